/** All texts of the page, in one place. `translate` replaces them. */
import type { ConnectionState } from "./api/board-stream.ts";
import type { DecisionInfo } from "./api/wire.ts";
import type { CallStatus } from "./state/conversation.ts";
import type { DecisionKind } from "./state/history.ts";
import type { OutboxState } from "./state/unsent.ts";

const english = {
  /** The language of the texts, for the page's `lang`. */
  language: "en",
  /** The direction of the page, unless its `dir` says otherwise. */
  direction: "ltr" as "ltr" | "rtl",
  appName: "Callboard",
  skipLinks: "Skip links",
  skip: "Skip to the message field",
  skipToContent: "Skip to the content",
  menu: "Conversations",
  newConversation: ["New", " conversation"] as readonly [string, string],
  searchConversations: "Search conversations",
  noConversations: "No conversations yet.",
  nothingFound: "No conversation has this in its title.",
  rename: "Rename",
  renameOf: (name: string) => `Rename “${name}”`,
  delete: "Delete",
  deleteOf: (name: string) => `Delete “${name}”`,
  confirmDelete: (name: string) => `Delete the conversation “${name}” with all its messages and results?`,
  running: "working",
  waiting: (count: number | string) => `${count} waiting`,
  theme: { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" },
  shortcuts: "Shortcuts",
  shortcutList: [
    ["Enter", "Send the message"],
    ["Shift + Enter", "Start a new line"],
    ["Escape", "Stop the model, or leave a form"],
    ["/", "Write a message"],
    ["Alt + N", "Start a new conversation"],
    ["G then I", "Go to the inbox"],
    ["G then T", "Go to the tools"],
    ["G then O", "Go to operations"],
    ["G then A", "Go to the API"],
    ["G then C", "Go to the conversation"],
    ["↑ ↓ Home End", "Move between conversations"],
    ["F2", "Rename the conversation in the list"],
    ["Delete", "Delete the conversation in the list"],
    ["?", "Show this list"],
  ] as readonly (readonly [string, string])[],
  close: "Close",

  connection: {
    connecting: "connecting…",
    reconnecting: "reconnecting…",
    waiting: "reconnecting…",
    connected: "connected",
    lost: "not connected",
  } satisfies Record<ConnectionState, string>,
  views: { inbox: "Inbox", timeline: "Timeline", tools: "Tools", operations: "Operations", api: "API" },
  viewNotLoaded: "This view could not be loaded. Check your connection, and open it again.",
  connectionLost: "connection lost, retrying soon",
  tryNow: "Try now",

  welcomeTitle: "What would you like to do?",
  welcomeText:
    "Send a message to the model. It uses tools: some respond immediately, some run in the background, some ask for your approval first.",
  conversation: "Conversation",
  unsentMessages: "Unsent messages",
  earlierMessages: "Earlier messages",
  newest: "↓ Newest",
  you: "You: ",
  model: "Model: ",
  copy: "Copy",
  copied: "Copied",
  copyMessage: "Copy this message",
  edit: "Edit",
  editMessage: "Edit this message, and send it again",
  link: "Link",
  copyLink: "Copy a link to this call",
  linkCopied: "Link copied",
  noSuchCall: "The call of this link does not exist in this conversation.",
  noSuchRequest: "The request of this link does not exist in this conversation.",
  callNotShown: "The call of this link is not among the messages that can be shown.",
  requestClosed: "The request of this link is already closed.",
  retryTurn: "Try again",
  aboutCall: (tool: string) => `about ${tool}`,

  composerLabel: "Message to the model",
  composerPlaceholder: "Write a message…",
  composerKeys: "Press Enter to send, Shift+Enter for a new line, Escape to stop the model.",
  send: "Send",
  stop: "Stop",
  waitingForYou: (count: number, direction: string) =>
    `${count === 1 ? "A question is" : `${count} questions are`} waiting for you ${direction}`,

  outbox: {
    kept: "",
    sending: "sending…",
    sent: "sent",
    waiting: "not sent yet, retrying automatically",
    failed: "not sent",
  } satisfies Record<OutboxState, string>,
  notSent: (reason: string) => `not sent: ${reason}`,
  remove: "Remove",
  tooOld: "This message is more than 12 hours old.",

  stopped: "Stopped.",
  turnFailed: "The turn failed.",
  callFailed: (tool: string) => `${tool} failed.`,
  callWaits: (tool: string) => `${tool} is waiting for your answer.`,

  status: {
    pending: "queued",
    validating: "starting",
    executing: "running",
    retrying: "retrying",
    waiting: "waiting for you",
    succeeded: "done",
    failed: "failed",
    cancelled: "cancelled",
    rejected: "rejected",
    expired: "not answered in time",
  } satisfies Record<CallStatus, string>,
  attempt: (number: number, maximum: number) => ` (attempt ${number} of ${maximum})`,
  attemptOf: (number: string, maximum: string) => `attempt ${number} of ${maximum}`,
  spent: (duration: string) => ` in ${duration}`,
  callOf: (tool: string) => `Call of ${tool}`,
  progressOf: (tool: string) => `Progress of ${tool}`,
  cancelling: "cancelling…",
  cancel: "Cancel",
  cancelCall: (tool: string) => `Cancel ${tool}`,
  details: "Details",
  nextAttempt: (duration: string) => `Next attempt in ${duration}.`,
  earlierPartials: (count: number) => `${count} earlier`,
  attempts: "Attempts",
  attemptAt: (number: number, time: string) => `Attempt ${number} at ${time}`,
  after: (duration: string) => `, ${duration}`,
  started: "Started",
  queued: "In the queue",
  waitedForPerson: "Waiting for you",
  worked: "Running time",
  nothing: "nothing",
  showMore: (count: number) => `Show more (${count.toLocaleString()})`,
  showMoreText: (count: number) => `Show more (${count.toLocaleString()} characters)`,
  asText: "As text",
  asFormatted: "Formatted",
  imageResult: "Image in the result",
  audioResult: "Sound in the result",
  brokenImage: "The browser cannot show this image.",
  tableOf: (count: number) => `Table of ${count} rows`,
  listOf: (count: number) => `List of ${count}`,
  objectOf: (count: number) => `${count} ${count === 1 ? "field" : "fields"}`,
  calls: (count: number) => `${count} calls`,
  callsWith: (count: number, status: string) => `${count} ${status}`,

  decision: {
    approved: "Approved",
    rejected: "Rejected",
    answered: "Answered",
    confirmed: "Confirmed by the wallet",
    failed: "Failed in the wallet",
  } satisfies Record<DecisionKind, string>,
  byYou: "by you",
  byUser: (user: string) => `by ${user}, elsewhere`,
  elsewhere: "elsewhere",
  withChanges: " with changes",
  afterTime: (duration: string) => ` after ${duration}`,
  unchanged: "The arguments are unchanged.",
  was: "was ",
  is: "is ",

  allowCall: "Allow this call?",
  roundedNumbers: "This browser rounds large numbers. The arguments cannot be edited in it.",
  loadingRequest: "Loading the whole request…",
  answerTo: (tool: string) => `Answer to ${tool}`,
  approve: "Approve",
  reject: "Reject",
  rejectMore: "Reject…",
  editMore: "Edit…",
  back: "Back",
  whyReject: "Why do you reject this call?",
  editArguments: "Edit the arguments of this call",
  approveThese: "Approve with these",
  reason: "Reason",
  reasonHint: "The model sees your reason and can try something else.",
  whatAnswer: "What is your answer?",
  answer: "Answer",
  answerJson: "Answer (JSON)",
  argumentsJson: "Arguments (JSON)",
  asForm: "As a form",
  asJson: "As JSON",
  choose: "Choose…",
  none: "—",
  notJson: (label: string) => `${label}: this is not valid JSON.`,
  incompleteJson: "This is not valid JSON yet, so it cannot be compared or sent.",
  notInForm: (names: string) => `The form cannot show ${names}. Correct this in the JSON, or send it as JSON.`,
  notAnObject: "The form shows an object with fields only. Correct this in the JSON.",
  noChanges: "You have changed nothing yet.",
  expiresIn: (duration: string) => `Expires in ${duration}`,
  expired: "The time to answer has expired.",
  inBrowser: "in your browser",
  inBrowserTime: "In your browser",
  willChange: "You change:",
  slowAnswer: "The server does not respond. Your answer is sent again, and counted once.",
  decidedElsewhere: "This question was already answered elsewhere.",
  decidedFirst: (what: string, when: string) =>
    `Your answer was not used: this request was already ${what}${when === "" ? "" : ` at ${when}`}.`,
  outcome: {
    approved: "approved",
    rejected: "rejected",
    answered: "answered",
    expired: "closed because it expired",
    withdrawn: "closed because its call had ended",
  } satisfies Record<DecisionInfo["outcome"], string>,

  signIn: "Sign in",
  signInText:
    "This server requires an API key or a token. The page keeps it until you close this tab, unless you choose otherwise.",
  token: "API key or token",
  rememberToken: "Keep it on this device",
  tokenRefused: "The server did not accept this API key or token.",
  continue: "Continue",
  signOut: "Sign out",
};

export type Texts = typeof english;

/** The texts in use. */
export const texts: Texts = { ...english };

const sections: Record<string, object> = {};

/** Replace texts, for example with those of another language, before elements are drawn. Views have their own sections. */
export function translate(other: Partial<Texts>, ofViews: Readonly<Record<string, object>> = {}): void {
  Object.assign(texts, other);
  Object.assign(sections, ofViews);
}

/** The texts of a view that is loaded on demand. */
export function viewTexts<T extends object>(view: string, ofView: T): T {
  return { ...ofView, ...sections[view] };
}

/** Example messages, by the tools that they need. */
export const SUGGESTIONS: readonly (readonly [tool: string, text: string])[] = [
  ["get_current_time", "what time is it in Tokyo and Paris"],
  ["calculate", "what is 12 * (3 + 4) and 365 * 24"],
  ["build_report", "build a report on coffee"],
  ["send_payment", "pay 25 EUR to Ada for lunch"],
  ["check_stock", "check the stock of lamps"],
  ["ask_delivery", "deliver the lamp"],
  ["send_ether", "send 0.01 ETH to Ada"],
];
