import type { Message } from "@ag-ui/client";

export interface AgUiMessagesChangedDetail {
  readonly messages: readonly Message[];
}

/** The messages of the thread have changed. */
export class AgUiMessagesChangedEvent extends CustomEvent<AgUiMessagesChangedDetail> {
  static readonly type = "ag-ui-messages-changed";

  constructor(detail: AgUiMessagesChangedDetail) {
    super(AgUiMessagesChangedEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-messages-changed": AgUiMessagesChangedEvent;
  }
}
