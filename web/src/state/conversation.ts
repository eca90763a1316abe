/**
 * The state of a conversation on the page: its items in order, its calls and its open requests.
 *
 * A state is never changed: `reducer.ts` makes the next one from a snapshot, events and pages of earlier messages. An
 * item or a call that did not change is the same object in the next state, so that elements compare by identity.
 */
import type { Failure, Schema } from "../api/wire.ts";
import { EMPTY_HISTORY, type History } from "./history.ts";

/** A message of the person or the model. `isLive` while it is streamed. */
export interface MessageItem {
  readonly type: "message";
  readonly key: string;
  readonly role: "user" | "model";
  readonly text: string;
  readonly isLive: boolean;
  /** The calls whose late results this message reports. */
  readonly reports: readonly string[];
}

/** A note of the system between messages. `canRetry` after a failed turn. */
export interface NoticeItem {
  readonly type: "notice";
  readonly key: string;
  readonly level: "plain" | "error";
  readonly text: string;
  readonly canRetry: boolean;
}

/** The place of a call. `Conversation.calls` has the call under the same key. */
export interface CallItem {
  readonly type: "call";
  readonly key: string;
}

export type Item = MessageItem | NoticeItem | CallItem;

/** An open request to a person or a page. */
export interface OpenRequest {
  readonly id: string;
  readonly purpose: string;
  readonly payload: unknown;
  readonly schema: Schema;
  readonly argumentsHash: string | null;
  readonly expiresAt: string | null;
  /** Whether only a part of it is loaded, so that it cannot be answered yet. */
  readonly isCut?: boolean;
}

export type CallStatus =
  | "pending"
  | "validating"
  | "executing"
  | "retrying"
  | "waiting"
  | "succeeded"
  | "failed"
  | "cancelled"
  | "rejected"
  | "expired";

export interface Call {
  readonly key: string;
  readonly tool: string;
  /** The id that the model gave the call. Events and messages have the same one. */
  readonly callId: string | null;
  readonly executionId: string | null;
  readonly arguments: unknown;
  readonly status: CallStatus;
  readonly attempt: number;
  readonly maximum: number;
  readonly value: unknown;
  readonly error: Failure | null;
  /** Errors of earlier attempts, as a snapshot lists them. */
  readonly previousErrors: readonly Failure[];
  readonly request: OpenRequest | null;
  readonly history: History;
}

export interface Conversation {
  readonly items: readonly Item[];
  /** The calls by the keys of their items. */
  readonly calls: ReadonlyMap<string, Call>;
  /** The keys of calls, by execution id and by call id. */
  readonly keys: ReadonlyMap<string, string>;
  /** The keys of the calls of open requests, by request id. */
  readonly requests: ReadonlyMap<string, string>;
  /** The keys of the calls of all requests, also of closed ones. */
  readonly owners: ReadonlyMap<string, string>;
  /** The execution of each late result, by the id of the call that reports it. */
  readonly late: ReadonlyMap<string, string>;
  /** The keys of calls that may have ended before the snapshot. */
  readonly uncertain: ReadonlySet<string>;
  readonly isProcessing: boolean;
  /** The key of the message that is being streamed, and its turn. If it is interrupted, its pieces are ignored. */
  readonly live: { readonly key: string; readonly turn: unknown; readonly isInterrupted?: boolean } | null;
  /** Executions whose late results the next message of the model reports. */
  readonly unreported: readonly string[];
  /** The number of the next key. */
  readonly count: number;
}

export const EMPTY_CONVERSATION: Conversation = Object.freeze({
  items: [],
  calls: new Map<string, Call>(),
  keys: new Map<string, string>(),
  requests: new Map<string, string>(),
  owners: new Map<string, string>(),
  late: new Map<string, string>(),
  uncertain: new Set<string>(),
  isProcessing: false,
  live: null,
  unreported: [],
  count: 0,
});

const LIVE: ReadonlySet<CallStatus> = new Set(["pending", "validating", "executing", "retrying", "waiting"]);

/** Whether a call has not ended. */
export const isLive = (call: Pick<Call, "status">): boolean => LIVE.has(call.status);

/** Whether an execution has not ended. */
export function isRunning({ calls, keys }: Conversation, executionId: string): boolean {
  const call = calls.get(keys.get(executionId) ?? "");
  return call !== undefined && isLive(call);
}

/** Whether the start of a call is unknown, so that earlier events can complete its card. */
export const lacksHistory = ({ calls }: Conversation): boolean =>
  [...calls.values()].some(({ history }) => history.startedAt === null);

/** The calls of open requests, oldest first. */
export const waitingCalls = ({ calls, requests }: Conversation): Call[] =>
  [...requests.values()].map((key) => calls.get(key)).filter((call) => call !== undefined);

/** The name of a call that stays the same when the page is loaded again. */
export const stableId = ({ key, callId, executionId }: Pick<Call, "key" | "callId" | "executionId">): string =>
  callId ?? executionId ?? key;

/** The newest request of a call, open or closed. */
export const requestIdOf = ({ request, history }: Call): string | null =>
  request?.id ?? history.asked.at(-1)?.requestId ?? null;

/** Whether the model owes a response: the newest item is neither its message nor a notice. */
export const lacksResponse = ({ items, isProcessing }: Conversation): boolean => {
  const last = items.at(-1);
  return !isProcessing && (last?.type === "call" || (last?.type === "message" && last.role === "user"));
};

/** A call without a history. */
export function newCall(key: string, data: Pick<Call, "tool"> & Partial<Call>): Call {
  return {
    key,
    callId: null,
    executionId: null,
    arguments: {},
    status: "pending",
    attempt: 1,
    maximum: 1,
    value: undefined,
    error: null,
    previousErrors: [],
    request: null,
    history: EMPTY_HISTORY,
    ...data,
  };
}
