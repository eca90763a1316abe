/** The person sends a run again that did not arrive. */
export class RetryRunEvent extends Event {
  static readonly type = "callboard-retry-run";
  readonly callId: string;

  constructor(callId: string) {
    super(RetryRunEvent.type, { bubbles: true, composed: true });
    this.callId = callId;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-retry-run": RetryRunEvent;
  }
}
