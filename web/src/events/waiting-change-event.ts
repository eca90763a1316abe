/** The number of requests that wait for the person has changed. */
export class WaitingChangeEvent extends Event {
  static readonly type = "callboard-waiting-change";
  readonly count: number;

  constructor(count: number) {
    super(WaitingChangeEvent.type, { bubbles: true, composed: true });
    this.count = count;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-waiting-change": WaitingChangeEvent;
  }
}
