/**
 * The state of the connection as the person sees it. A short cut shows no notice: another state than "connected" is shown
 * only when it has lasted for two seconds, the silence before it included. Pure functions.
 */
import type { Connection } from "./session-listener.ts";

/** Milliseconds for which a cut is not worth a word. */
export const PATIENCE = 2_000;

export interface CalmConnection {
  /** What is shown. */
  readonly shown: Connection;
  /** Since when there has been no connection, in milliseconds. Null while there is one. */
  readonly since: number | null;
}

/** The next state to show, and the milliseconds after which to look again (null for never). */
export function calm(
  before: CalmConnection,
  now: Connection,
  time: number,
): { readonly next: CalmConnection; readonly wait: number | null } {
  if (now.state === "connected") return { next: { shown: now, since: null }, wait: null };
  const since = before.since ?? time - now.silence;
  const isShown = before.shown.state !== "connected" || time - since >= PATIENCE;
  if (isShown) return { next: { shown: now, since }, wait: null };
  return { next: { shown: before.shown, since }, wait: since + PATIENCE - time };
}
