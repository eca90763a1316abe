/** A chat has loaded its conversation, or is ready for a new one. */
export class ReadyEvent extends Event {
  static readonly type = "callboard-ready";

  constructor() {
    super(ReadyEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-ready": ReadyEvent;
  }
}
