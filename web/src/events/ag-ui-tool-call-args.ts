export interface AgUiToolCallArgsDetail {
  readonly toolCallId: string;
  readonly toolCallName: string;
  readonly delta: string;
  /** The JSON that has arrived so far. */
  readonly argsText: string;
}

/** A piece of the arguments of a call has arrived. */
export class AgUiToolCallArgsEvent extends CustomEvent<AgUiToolCallArgsDetail> {
  static readonly type = "ag-ui-tool-call-args";

  constructor(detail: AgUiToolCallArgsDetail) {
    super(AgUiToolCallArgsEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-tool-call-args": AgUiToolCallArgsEvent;
  }
}
