/** The person stops the model. */
export class StopEvent extends Event {
  static readonly type = "callboard-stop";

  constructor() {
    super(StopEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-stop": StopEvent;
  }
}
