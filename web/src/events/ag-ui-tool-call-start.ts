export interface AgUiToolCallStartDetail {
  readonly toolCallId: string;
  readonly toolCallName: string;
  /** The message of the model that the call belongs to. */
  readonly parentMessageId: string | undefined;
}

/** The model begins to call a tool, of the page or of the agent. */
export class AgUiToolCallStartEvent extends CustomEvent<AgUiToolCallStartDetail> {
  static readonly type = "ag-ui-tool-call-start";

  constructor(detail: AgUiToolCallStartDetail) {
    super(AgUiToolCallStartEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-tool-call-start": AgUiToolCallStartEvent;
  }
}
