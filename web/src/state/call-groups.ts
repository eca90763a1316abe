/** Rows of calls that have ended, which the timeline folds into one line. Pure functions. */
import { type Call, type CallStatus, type Conversation, isLive, type Item, stableId } from "./conversation.ts";

/** Calls in a row that make a group. */
const MIN_CALLS = 2;

/** Calls in a row between other items, in their order. */
export interface CallGroup {
  readonly type: "group";
  readonly key: string;
  /** Stays the same when the page is loaded again. */
  readonly id: string;
  readonly calls: readonly Call[];
}

export type Block = Item | CallGroup;

/**
 * Fold rows of calls that have ended. A call that runs or waits for a person is never part of a group, and a row stays
 * as it is while calls may still be added to it.
 */
export function blocksOf({ items, calls, isProcessing }: Conversation): Block[] {
  const blocks: Block[] = [];
  let row: Call[] = [];
  const close = () => {
    const [first] = row;
    if (first !== undefined && row.length >= MIN_CALLS) {
      blocks.splice(blocks.length - row.length);
      blocks.push({ type: "group", key: first.key, id: `group ${stableId(first)}`, calls: row });
    }
    row = [];
  };
  for (const item of items) {
    const call = item.type === "call" ? calls.get(item.key) : undefined;
    if (call === undefined || isLive(call)) close();
    blocks.push(item);
    if (call !== undefined && !isLive(call)) row.push(call);
  }
  if (!isProcessing) close();
  return blocks;
}

/** Whether a call of a folded group stays visible: it failed, or a person decided about it. */
export const staysVisible = ({ status, history }: Call): boolean => status === "failed" || history.answered.length > 0;

/** The number of calls with each status. */
export function countStatuses(calls: readonly Call[]): ReadonlyMap<CallStatus, number> {
  const counts = new Map<CallStatus, number>();
  for (const { status } of calls) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}
