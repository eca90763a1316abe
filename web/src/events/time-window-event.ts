import type { TimeWindow } from "../state/time-scale.ts";

/** The person zooms or moves the lanes of the timeline. */
export class TimeWindowEvent extends Event {
  /** Null to show everything. */
  readonly window: TimeWindow | null;

  constructor(window: TimeWindow | null) {
    super("callboard-time-window", { bubbles: true, composed: true });
    this.window = window;
  }
}
