/** The person asks the model to try a failed turn again. */
export class RetryTurnEvent extends Event {
  static readonly type = "callboard-retry-turn";

  constructor() {
    super(RetryTurnEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-retry-turn": RetryTurnEvent;
  }
}
