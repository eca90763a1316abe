import type { ToolExecution } from "../tools/types.ts";

export interface ToolExecutionValidatingDetail {
  readonly execution: ToolExecution;
}

/** The arguments of an execution are being validated. */
export class ToolExecutionValidatingEvent extends CustomEvent<ToolExecutionValidatingDetail> {
  static readonly type = "tool-execution-validating";

  constructor(detail: ToolExecutionValidatingDetail) {
    super(ToolExecutionValidatingEvent.type, { detail });
  }
}
