/** The person asks to connect now. */
export class ReconnectEvent extends Event {
  static readonly type = "callboard-reconnect";

  constructor() {
    super(ReconnectEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-reconnect": ReconnectEvent;
  }
}
