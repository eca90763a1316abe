export interface AgUiStateChangedDetail {
  readonly state: unknown;
}

/** The state that the page shares with the agent has changed. */
export class AgUiStateChangedEvent extends CustomEvent<AgUiStateChangedDetail> {
  static readonly type = "ag-ui-state-changed";

  constructor(detail: AgUiStateChangedDetail) {
    super(AgUiStateChangedEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-state-changed": AgUiStateChangedEvent;
  }
}
