/** A chat shows another conversation, or its conversation was created with its first message. */
export class SessionChangeEvent extends Event {
  static readonly type = "callboard-session-change";
  readonly sessionId: string;
  readonly exists: boolean;

  constructor(sessionId: string, exists: boolean) {
    super(SessionChangeEvent.type, { bubbles: true, composed: true });
    this.sessionId = sessionId;
    this.exists = exists;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-session-change": SessionChangeEvent;
  }
}
