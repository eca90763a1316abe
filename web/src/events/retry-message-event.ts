/** The person asks to send an unsent message now. */
export class RetryMessageEvent extends Event {
  static readonly type = "callboard-retry-message";
  readonly id: string;

  constructor(id: string) {
    super(RetryMessageEvent.type, { bubbles: true, composed: true });
    this.id = id;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-retry-message": RetryMessageEvent;
  }
}
