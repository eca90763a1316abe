/** The person cancels a running call. */
export class CancelCallEvent extends Event {
  static readonly type = "callboard-cancel-call";
  readonly executionId: string;

  constructor(executionId: string) {
    super(CancelCallEvent.type, { bubbles: true, composed: true });
    this.executionId = executionId;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-cancel-call": CancelCallEvent;
  }
}
