export interface AgUiRunStartedDetail {
  readonly threadId: string;
  readonly runId: string;
}

/** A run of the agent has begun. */
export class AgUiRunStartedEvent extends CustomEvent<AgUiRunStartedDetail> {
  static readonly type = "ag-ui-run-started";

  constructor(detail: AgUiRunStartedDetail) {
    super(AgUiRunStartedEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-run-started": AgUiRunStartedEvent;
  }
}
