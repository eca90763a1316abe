import type { ToolError } from "../tools/errors.ts";
import type { ToolExecution } from "../tools/types.ts";

export interface AgUiToolRetryingDetail {
  readonly toolCallId: string;
  readonly toolCallName: string;
  /** The attempt that failed, counted from 1. */
  readonly attempt: number;
  /** The most attempts that there can be. */
  readonly maximum: number;
  /** Why it failed. */
  readonly error: ToolError;
  /** Milliseconds until the next attempt. */
  readonly delayMs: number;
  readonly execution: ToolExecution;
}

/** An attempt of a call in this page failed, and another one follows after a delay. */
export class AgUiToolRetryingEvent extends CustomEvent<AgUiToolRetryingDetail> {
  static readonly type = "ag-ui-tool-retrying";

  constructor(detail: AgUiToolRetryingDetail) {
    super(AgUiToolRetryingEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-tool-retrying": AgUiToolRetryingEvent;
  }
}
