/** The person wants to edit one of their messages, and send it again. */
export class EditMessageEvent extends Event {
  static readonly type = "callboard-edit-message";
  readonly text: string;

  constructor(text: string) {
    super(EditMessageEvent.type, { bubbles: true, composed: true });
    this.text = text;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-edit-message": EditMessageEvent;
  }
}
