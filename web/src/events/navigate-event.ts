import type { Route } from "../state/route.ts";

/** The person goes to another view. */
export class NavigateEvent extends Event {
  static readonly type = "callboard-navigate";
  readonly to: Partial<Route>;

  constructor(to: Partial<Route>) {
    super(NavigateEvent.type, { bubbles: true, composed: true });
    this.to = to;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-navigate": NavigateEvent;
  }
}
