/** All texts of the page, in one place. `translate` replaces them. */
import type { ConnectionState } from "./api/board-stream.ts";
import type { CallStatus } from "./state/conversation.ts";
import type { DecisionKind } from "./state/history.ts";
import type { OutboxState } from "./state/outbox.ts";

const english = {
  appName: "Callboard",
  skip: "Skip to the message field",
  menu: "Conversations",
  newConversation: ["New", " conversation"] as readonly [string, string],
  searchConversations: "Search conversations",
  rename: "Rename",
  delete: "Delete",
  confirmDelete: (name: string) => `Delete the conversation “${name}” with all its messages and results?`,
  running: "working",
  waiting: (count: number) => `${count} waiting`,
  theme: { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" },
  shortcuts: "Shortcuts",
  shortcutList: [
    ["Enter", "Send the message"],
    ["Shift + Enter", "Start a new line"],
    ["Escape", "Stop the model, or leave a form"],
    ["/", "Write a message"],
    ["Alt + N", "Start a new conversation"],
    ["↑ ↓", "Move between conversations"],
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
  spent: (duration: string) => ` in ${duration}`,
  callOf: (tool: string) => `Call of ${tool}`,
  progressOf: (tool: string) => `Progress of ${tool}`,
  cancel: "Cancel",
  cancelCall: (tool: string) => `Cancel ${tool}`,
  details: "Details",
  nextAttempt: (duration: string) => `Next attempt in ${duration}.`,
  earlierPartials: (count: number) => `${count} earlier`,
  queued: "In the queue",
  waitedForPerson: "Waiting for you",
  worked: "At work",
  nothing: "nothing",
  moreRows: (count: number) => `${count} more`,
  listOf: (count: number) => `List of ${count}`,
  objectOf: (count: number) => `${count} ${count === 1 ? "field" : "fields"}`,
  calls: (count: number) => `${count} calls`,
  callsFailed: (count: number) => `${count} failed`,
  showCalls: "Show",
  hideCalls: "Hide",

  decision: {
    approved: "Approved",
    rejected: "Rejected",
    answered: "Answered",
    confirmed: "Confirmed by the wallet",
    failed: "Failed in the wallet",
  } satisfies Record<DecisionKind, string>,
  withChanges: " with changes",
  afterTime: (duration: string) => ` after ${duration}`,
  unchanged: "The arguments are unchanged.",
  was: "was ",
  is: "is ",

  allowCall: "Allow this call?",
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
  expiresIn: (duration: string) => `Expires in ${duration}`,
  expired: "The time to answer is over.",
  willChange: "You change:",
  slowAnswer: "The server does not respond. Try again: your answer is counted once.",
  decidedElsewhere: "This question was already answered elsewhere.",

  signIn: "Sign in with a token",
  signInText: "This server requires a key or a token. The page keeps it until you close this tab.",
  token: "Token",
  rememberToken: "Keep it on this device",
  tokenRefused: "The server did not accept this token.",
  continue: "Continue",
};

export type Texts = typeof english;

/** The texts in use. */
export const texts: Texts = { ...english };

/** Replace texts, for example with those of another language, before elements are drawn. */
export function translate(other: Partial<Texts>): void {
  Object.assign(texts, other);
}

/** Example messages, by the tools that they need. */
export const SUGGESTIONS: readonly (readonly [tool: string, text: string])[] = [
  ["get_current_time", "what time is it in Tokyo and Paris"],
  ["calculate", "what is 12 * (3 + 4) and 365 * 24"],
  ["build_report", "build a report on coffee"],
  ["send_payment", "pay 25 EUR to Ada for lunch"],
  ["check_stock", "check the stock of lamps"],
  ["ask_delivery", "deliver the lamp"],
];
