/** Something has happened in the conversation: a turn began or ended, or there is a new message or call. */
export class ActivityEvent extends Event {
  static readonly type = "callboard-activity";

  constructor() {
    super(ActivityEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-activity": ActivityEvent;
  }
}
