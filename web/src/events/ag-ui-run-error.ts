export interface AgUiRunErrorDetail {
  readonly message: string;
  /** The agent's own code. */
  readonly code: string | undefined;
  /** The exception, if the agent did not report the error itself. */
  readonly cause: unknown;
}

/** A run has failed: the agent reported an error, or could not be reached. */
export class AgUiRunErrorEvent extends CustomEvent<AgUiRunErrorDetail> {
  static readonly type = "ag-ui-run-error";

  constructor(detail: AgUiRunErrorDetail) {
    super(AgUiRunErrorEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-run-error": AgUiRunErrorEvent;
  }
}
