import type { ToolExecution } from "../tools/types.ts";

export interface AgUiToolCallEndDetail {
  readonly toolCallId: string;
  readonly toolCallName: string;
  readonly result: string;
  /** The execution in this page; undefined for a tool of the agent. */
  readonly execution: ToolExecution | undefined;
}

/** A call has its result. */
export class AgUiToolCallEndEvent extends CustomEvent<AgUiToolCallEndDetail> {
  static readonly type = "ag-ui-tool-call-end";

  constructor(detail: AgUiToolCallEndDetail) {
    super(AgUiToolCallEndEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-tool-call-end": AgUiToolCallEndEvent;
  }
}
