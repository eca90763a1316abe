/** A call that waits for your decision. */
export interface PendingToolCall {
  readonly toolCallId: string;
  readonly toolCallName: string;
  readonly args: unknown;
  /**
   * `interrupted`: another page, or this one before a reload, may have carried it out, and the tool is not idempotent.
   * `unknown_tool`: no registered tool has this name.
   */
  readonly reason: "interrupted" | "unknown_tool";
}
