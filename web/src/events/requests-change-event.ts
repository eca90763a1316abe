import type { InboxRequest } from "../state/inbox-request.ts";

/** The list of open requests has changed. */
export class RequestsChangeEvent extends Event {
  static readonly type = "callboard-requests-change";
  /** Requests that were not known before. Empty for the first list. */
  readonly arrived: readonly InboxRequest[];

  constructor(arrived: readonly InboxRequest[]) {
    super(RequestsChangeEvent.type);
    this.arrived = arrived;
  }
}
