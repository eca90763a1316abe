/** The person sends a message. */
export class SendEvent extends Event {
  static readonly type = "callboard-send";
  readonly text: string;

  constructor(text: string) {
    super(SendEvent.type, { bubbles: true, composed: true });
    this.text = text;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-send": SendEvent;
  }
}
