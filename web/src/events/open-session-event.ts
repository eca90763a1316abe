/** The person opens a conversation, or starts a new one (null). */
export class OpenSessionEvent extends Event {
  static readonly type = "callboard-open-session";
  readonly sessionId: string | null;

  constructor(sessionId: string | null) {
    super(OpenSessionEvent.type, { bubbles: true, composed: true });
    this.sessionId = sessionId;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-open-session": OpenSessionEvent;
  }
}
