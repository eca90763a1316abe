import type { PageRunChoice } from "../state/page-run.ts";

/** The person decides about a call that this page executes. */
export class PageRunEvent extends Event {
  static readonly type = "callboard-page-run";
  readonly requestId: string;
  readonly choice: PageRunChoice;

  constructor(requestId: string, choice: PageRunChoice) {
    super(PageRunEvent.type, { bubbles: true, composed: true });
    this.requestId = requestId;
    this.choice = choice;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-page-run": PageRunEvent;
  }
}
