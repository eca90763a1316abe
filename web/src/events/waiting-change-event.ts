/** The requests that wait for the person in a conversation have changed. */
export class WaitingChangeEvent extends Event {
  static readonly type = "callboard-waiting-change";
  readonly count: number;
  /** The ids of the requests. */
  readonly requests: readonly string[];

  constructor(requests: readonly string[]) {
    super(WaitingChangeEvent.type, { bubbles: true, composed: true });
    this.count = requests.length;
    this.requests = requests;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-waiting-change": WaitingChangeEvent;
  }
}
