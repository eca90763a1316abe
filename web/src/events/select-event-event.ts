/** The person selects an event of the timeline. */
export class SelectEventEvent extends Event {
  readonly seq: number;
  /** Whether its details are to be opened. */
  readonly opens: boolean;

  constructor(seq: number, opens: boolean) {
    super("callboard-select-event", { bubbles: true, composed: true });
    this.seq = seq;
    this.opens = opens;
  }
}
