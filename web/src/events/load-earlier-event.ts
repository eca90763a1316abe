/** The person asks for earlier messages. */
export class LoadEarlierEvent extends Event {
  static readonly type = "callboard-load-earlier";

  constructor() {
    super(LoadEarlierEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-load-earlier": LoadEarlierEvent;
  }
}
