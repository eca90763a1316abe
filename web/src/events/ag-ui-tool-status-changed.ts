import type { ToolExecution, ToolExecutionStatus } from "../tools/types.ts";

export interface AgUiToolStatusChangedDetail {
  readonly toolCallId: string;
  readonly toolCallName: string;
  readonly status: ToolExecutionStatus;
  readonly execution: ToolExecution;
}

/** The execution of a call in this page has a new status. */
export class AgUiToolStatusChangedEvent extends CustomEvent<AgUiToolStatusChangedDetail> {
  static readonly type = "ag-ui-tool-status-changed";

  constructor(detail: AgUiToolStatusChangedDetail) {
    super(AgUiToolStatusChangedEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-tool-status-changed": AgUiToolStatusChangedEvent;
  }
}
