/** What a browser forgets of a person who signs out: drafts, unsent messages, and the conversations that they began. */
import { forgetNextSessions } from "./next-session.ts";
import { forgetUnsent } from "./outbox.ts";
import { removeStored } from "./storage.ts";

/** Forget the texts of the person, so that the next one neither sees nor sends them. */
export function forgetPerson(): void {
  forgetUnsent();
  forgetNextSessions();
  removeStored("sessionStorage", "callboard.");
}
