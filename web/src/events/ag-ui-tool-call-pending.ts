import type { PendingToolCall } from "../tools/pending-tool-call.ts";

export interface AgUiToolCallPendingDetail {
  readonly call: PendingToolCall;
}

/** A call that the element does not execute automatically is waiting: see `AgUiAgent.pendingToolCalls`. */
export class AgUiToolCallPendingEvent extends CustomEvent<AgUiToolCallPendingDetail> {
  static readonly type = "ag-ui-tool-call-pending";

  constructor(detail: AgUiToolCallPendingDetail) {
    super(AgUiToolCallPendingEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-tool-call-pending": AgUiToolCallPendingEvent;
  }
}
