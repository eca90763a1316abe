import type { BoardFilter } from "../state/board-filter.ts";

/** The person chooses which events the timeline shows. */
export class BoardFilterEvent extends Event {
  readonly filter: BoardFilter;

  constructor(filter: BoardFilter) {
    super("callboard-board-filter", { bubbles: true, composed: true });
    this.filter = filter;
  }
}
