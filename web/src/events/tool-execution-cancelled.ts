import type { ToolExecution } from "../tools/types.ts";

export interface ToolExecutionCancelledDetail {
  readonly execution: ToolExecution;
}

/** An execution was cancelled. */
export class ToolExecutionCancelledEvent extends CustomEvent<ToolExecutionCancelledDetail> {
  static readonly type = "tool-execution-cancelled";

  constructor(detail: ToolExecutionCancelledDetail) {
    super(ToolExecutionCancelledEvent.type, { detail });
  }
}
