/** Messages that the server has not acknowledged yet, as the page shows them. */

/** `kept` messages were loaded from the storage; the board may already have them, so they are not shown. */
export type OutboxState = "kept" | "sending" | "sent" | "waiting" | "failed";

/** A message in the outbox. */
export interface Unsent {
  readonly id: string;
  readonly text: string;
  readonly at: number;
  readonly state: OutboxState;
  readonly problem: string;
  /** The number of its event, once the server has accepted it. */
  readonly seq: number | null;
}
