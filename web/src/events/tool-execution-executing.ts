import type { ToolExecution } from "../tools/types.ts";

export interface ToolExecutionExecutingDetail {
  readonly execution: ToolExecution;
}

/** An attempt of an execution begins: its handler is called next. */
export class ToolExecutionExecutingEvent extends CustomEvent<ToolExecutionExecutingDetail> {
  static readonly type = "tool-execution-executing";

  constructor(detail: ToolExecutionExecutingDetail) {
    super(ToolExecutionExecutingEvent.type, { detail });
  }
}
