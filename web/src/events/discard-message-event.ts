/** The person removes an unsent message. */
export class DiscardMessageEvent extends Event {
  static readonly type = "callboard-discard-message";
  readonly id: string;

  constructor(id: string) {
    super(DiscardMessageEvent.type, { bubbles: true, composed: true });
    this.id = id;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-discard-message": DiscardMessageEvent;
  }
}
