import type { ToolError } from "../tools/errors.ts";
import type { ToolExecution } from "../tools/types.ts";

export interface ToolExecutionFailedDetail {
  readonly execution: ToolExecution;
  readonly error: ToolError;
}

/** An execution ended with an error, after all attempts. */
export class ToolExecutionFailedEvent extends CustomEvent<ToolExecutionFailedDetail> {
  static readonly type = "tool-execution-failed";

  constructor(detail: ToolExecutionFailedDetail) {
    super(ToolExecutionFailedEvent.type, { detail });
  }
}
