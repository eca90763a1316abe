/** The person has answered a request in the inbox. */
export class AnsweredEvent extends Event {
  static readonly type = "callboard-answered";

  constructor() {
    super(AnsweredEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-answered": AnsweredEvent;
  }
}
