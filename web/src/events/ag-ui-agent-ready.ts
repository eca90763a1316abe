/** An agent was connected to the document, and tools may register now. */
export class AgUiAgentReadyEvent extends CustomEvent<null> {
  static readonly type = "ag-ui-agent-ready";

  constructor() {
    super(AgUiAgentReadyEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-agent-ready": AgUiAgentReadyEvent;
  }
}
