/** The person has renamed or deleted a conversation. */
export class SessionsChangeEvent extends Event {
  static readonly type = "callboard-sessions-change";

  constructor() {
    super(SessionsChangeEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-sessions-change": SessionsChangeEvent;
  }
}
