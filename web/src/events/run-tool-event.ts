/** The person runs a tool by hand. */
export class RunToolEvent extends Event {
  static readonly type = "callboard-run-tool";
  readonly tool: string;
  readonly arguments: unknown;

  constructor(tool: string, given: unknown) {
    super(RunToolEvent.type, { bubbles: true, composed: true });
    this.tool = tool;
    this.arguments = given;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-run-tool": RunToolEvent;
  }
}
