import { viewTexts } from "../texts.ts";
import type { ClosedDecision } from "../state/inbox-controller.ts";

/** Texts of the inbox. */
export const inboxTexts = viewTexts("inbox", {
  title: "Inbox",
  waiting: "Waiting for you",
  nothing: "Nothing is waiting for you.",
  nothingHint: "When a tool needs your approval or an answer, it appears here, from all conversations.",
  decided: "Recently decided",
  nothingDecided: "No decisions yet.",
  inConversation: (title: string) => `in ${title}`,
  asked: (time: string) => `asked ${time}`,
  openConversation: "Open",
  openConversationOf: (tool: string) => `Open the conversation of ${tool}`,
  showFresh: (count: number) => (count === 1 ? "Show 1 new request" : `Show ${count} new requests`),
  page: (first: number, last: number, total: string) => `${first}–${last} of ${total}`,
  pages: "Pages",
  previous: "Previous",
  next: "Next",
  earlier: "Earlier decisions",
  tryAgain: "Try again",
  loading: "Loading…",
  outcome: {
    approved: "Approved",
    rejected: "Rejected",
    answered: "Answered",
    expired: "Not answered in time",
    withdrawn: "No longer needed",
  } satisfies Record<ClosedDecision["outcome"], string>,
  by: (person: string) => `by ${person}`,
  sent: (left: number) => `Your answer was sent. ${left === 0 ? "Nothing else is waiting." : `${left} waiting.`}`,
  late: "This request was already closed elsewhere. The list below shows how.",
  notify: "Notify me",
  notifying: "Notifications are on",
  blocked: "Notifications are blocked in the settings of the browser",
  given: "Answer",
});
