/** The states of an execution and the transitions between them, as one table. */
import type { ToolExecutionStatus } from "./types.ts";

/** Every transition that is allowed. */
export const TRANSITIONS: Readonly<Record<ToolExecutionStatus, readonly ToolExecutionStatus[]>> = {
  pending: ["validating", "failed", "cancelled"],
  validating: ["executing", "failed", "cancelled"],
  executing: ["executing", "succeeded", "failed", "cancelled"],
  succeeded: [],
  failed: [],
  cancelled: [],
};

/** Return whether no state follows. */
export function isTerminal(status: ToolExecutionStatus): boolean {
  return TRANSITIONS[status].length === 0;
}

/** Return the target. Throws if the table does not allow that transition: a bug in the manager. */
export function move(current: ToolExecutionStatus, target: ToolExecutionStatus): ToolExecutionStatus {
  if (!TRANSITIONS[current].includes(target)) throw new Error(`an execution cannot go from ${current} to ${target}`);
  return target;
}
