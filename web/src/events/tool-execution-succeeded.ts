import type { ToolExecution } from "../tools/types.ts";

export interface ToolExecutionSucceededDetail {
  readonly execution: ToolExecution;
  readonly result: string;
}

/** An execution ended with a result. */
export class ToolExecutionSucceededEvent extends CustomEvent<ToolExecutionSucceededDetail> {
  static readonly type = "tool-execution-succeeded";

  constructor(detail: ToolExecutionSucceededDetail) {
    super(ToolExecutionSucceededEvent.type, { detail });
  }
}
