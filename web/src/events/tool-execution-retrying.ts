import type { ToolError } from "../tools/errors.ts";
import type { ToolExecution } from "../tools/types.ts";

export interface ToolExecutionRetryingDetail {
  readonly execution: ToolExecution;
  /** The attempt that failed, counted from 1. */
  readonly attempt: number;
  /** The most attempts that there can be. */
  readonly maximum: number;
  /** Why it failed. */
  readonly error: ToolError;
  /** Milliseconds until the next attempt. */
  readonly delayMs: number;
}

/** An attempt failed, and another one follows after a delay. */
export class ToolExecutionRetryingEvent extends CustomEvent<ToolExecutionRetryingDetail> {
  static readonly type = "tool-execution-retrying";

  constructor(detail: ToolExecutionRetryingDetail) {
    super(ToolExecutionRetryingEvent.type, { detail });
  }
}
