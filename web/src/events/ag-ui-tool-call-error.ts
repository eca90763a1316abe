import type { ToolError } from "../tools/errors.ts";
import type { ToolExecution } from "../tools/types.ts";

export interface AgUiToolCallErrorDetail {
  readonly toolCallId: string;
  readonly toolCallName: string;
  readonly error: ToolError;
  readonly execution: ToolExecution;
}

/** A call in this page failed or was cancelled. The model is told. */
export class AgUiToolCallErrorEvent extends CustomEvent<AgUiToolCallErrorDetail> {
  static readonly type = "ag-ui-tool-call-error";

  constructor(detail: AgUiToolCallErrorDetail) {
    super(AgUiToolCallErrorEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-tool-call-error": AgUiToolCallErrorEvent;
  }
}
