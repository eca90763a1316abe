export interface AgUiRunFinishedDetail {
  readonly threadId: string;
  readonly runId: string;
  readonly outcome: "success" | "interrupt" | "cancelled";
}

/** A run of the agent has ended without an error. */
export class AgUiRunFinishedEvent extends CustomEvent<AgUiRunFinishedDetail> {
  static readonly type = "ag-ui-run-finished";

  constructor(detail: AgUiRunFinishedDetail) {
    super(AgUiRunFinishedEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-run-finished": AgUiRunFinishedEvent;
  }
}
