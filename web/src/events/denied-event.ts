/** The server requires a token, or refused the one that it got. A listener that asks the person prevents the default. */
export class DeniedEvent extends Event {
  static readonly type = "callboard-denied";
  /** Whether the server refused a token, and did not only miss one. */
  readonly wasRefused: boolean;

  constructor(wasRefused: boolean) {
    super(DeniedEvent.type, { bubbles: true, composed: true, cancelable: true });
    this.wasRefused = wasRefused;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-denied": DeniedEvent;
  }
}
