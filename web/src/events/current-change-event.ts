/** The title of the open conversation has become known, or has changed. */
export class CurrentChangeEvent extends Event {
  static readonly type = "callboard-current-change";
  readonly sessionId: string;
  readonly title: string;

  constructor(sessionId: string, title: string) {
    super(CurrentChangeEvent.type, { bubbles: true, composed: true });
    this.sessionId = sessionId;
    this.title = title;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-current-change": CurrentChangeEvent;
  }
}
