import type { ToolExecution } from "../tools/types.ts";

export interface ToolExecutionStartedDetail {
  readonly execution: ToolExecution;
}

/** An execution was accepted, and is queued. */
export class ToolExecutionStartedEvent extends CustomEvent<ToolExecutionStartedDetail> {
  static readonly type = "tool-execution-started";

  constructor(detail: ToolExecutionStartedDetail) {
    super(ToolExecutionStartedEvent.type, { detail });
  }
}
