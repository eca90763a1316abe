/** A request that had the focus was closed. */
export class RequestClosedEvent extends Event {
  static readonly type = "callboard-request-closed";

  constructor() {
    super(RequestClosedEvent.type, { bubbles: true, composed: true });
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-request-closed": RequestClosedEvent;
  }
}
