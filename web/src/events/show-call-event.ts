/** The person asks to see the card of a call. */
export class ShowCallEvent extends Event {
  static readonly type = "callboard-show-call";
  readonly executionId: string;

  constructor(executionId: string) {
    super(ShowCallEvent.type, { bubbles: true, composed: true });
    this.executionId = executionId;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-show-call": ShowCallEvent;
  }
}
