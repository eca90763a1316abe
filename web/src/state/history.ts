/**
 * The history of a call, computed from its events: attempts, errors, partial results, requests to people, and times.
 *
 * Histories of adjacent ranges of events can be joined, so that neither live events nor pages of past events have to be
 * kept. Pure functions: no DOM, no network.
 */
import { isExact } from "../api/exact-integer.ts";
import {
  type BoardEvent,
  type DecisionInfo,
  type Failure,
  type Fields,
  hasOwn,
  isFields,
  type RequestPurpose,
} from "../api/wire.ts";

/** Stands between the names of a field and of an inner one. */
export const STEP = " › ";

/** Partial results that are kept, the newest ones. */
export const MAX_PARTIALS = 50;

export interface Attempt {
  readonly number: number;
  readonly maximum: number;
  readonly at: string;
}

export interface Progress {
  readonly stage: string;
  readonly message: string;
  readonly fraction: number | null;
}

/** A request to a person, or its answer. */
export interface Moment {
  readonly requestId: string;
  readonly at: string;
  /** The payload of a request, or the answer. */
  readonly value: unknown;
  /** The user who answered, if known. */
  readonly by: string | null;
}

export interface History {
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly attempts: readonly Attempt[];
  readonly errors: readonly Failure[];
  /** Which attempt each of these errors ended, and when. */
  readonly failed: readonly { readonly number: number; readonly at: string }[];
  /** The newest partial results of the newest attempt. */
  readonly partials: readonly unknown[];
  /** The number of all its partial results. */
  readonly partialCount: number;
  readonly progress: Progress | null;
  /** Seconds until the next attempt, while the call waits for it. */
  readonly retryIn: number | null;
  readonly asked: readonly Moment[];
  readonly answered: readonly Moment[];
  /** The purpose of the requests of the call, which is the same for all of them; null if it is not known. */
  readonly purpose: RequestPurpose | null;
}

export const EMPTY_HISTORY: History = Object.freeze({
  startedAt: null,
  endedAt: null,
  attempts: [],
  errors: [],
  failed: [],
  partials: [],
  partialCount: 0,
  progress: null,
  retryIn: null,
  asked: [],
  answered: [],
  purpose: null,
});

/** Add the next event of a call. An event that is no part of the history returns the same object. */
export function addEvent(history: History, { kind, at, data }: BoardEvent): History {
  switch (kind) {
    case "tool_started":
      return { ...history, startedAt: at };
    case "tool_executing": {
      const attempt = { number: Number(data["attempt"]), maximum: Number(data["maximum"]), at };
      // the partial results of an earlier attempt are produced again
      const fresh = { partials: [], partialCount: 0, progress: null, retryIn: null };
      return { ...history, ...fresh, attempts: [...history.attempts, attempt] };
    }
    case "tool_progress":
      return { ...history, progress: progressOf(data) };
    case "tool_partial": {
      const partials = [...history.partials, data["value"]].slice(-MAX_PARTIALS);
      return { ...history, partials, partialCount: history.partialCount + 1 };
    }
    case "tool_retrying": {
      const errors = [...history.errors, (data["error"] ?? {}) as Failure];
      const failed = [...history.failed, { number: Number(data["attempt"]), at }];
      return { ...history, errors, failed, retryIn: Number(data["delay"] ?? 0) };
    }
    case "human_request":
    case "wallet_tx_request": {
      const request = { requestId: String(data["request_id"]), at, value: data["payload"] ?? data, by: null };
      return { ...history, purpose: purposeOf(data) ?? history.purpose, asked: addMoment(history.asked, request) };
    }
    case "human_answer":
    case "wallet_tx_response": {
      const isWallet = kind === "wallet_tx_response";
      const purpose = isWallet ? "wallet" : (purposeOf(data) ?? history.purpose);
      const value = isWallet ? data : data["answer"];
      const by = typeof data["answered_by"] === "string" ? data["answered_by"] : null;
      const answer = { requestId: String(data["request_id"]), at, value, by };
      return { ...history, purpose, answered: addMoment(history.answered, answer) };
    }
    case "tool_result":
      return { ...history, endedAt: at, progress: null };
    default:
      return history;
  }
}

/** The history of two adjacent ranges of events. */
export function join(older: History, newer: History): History {
  const restarted = newer.attempts.length > 0; // the newer range resets what belongs to one attempt
  return {
    startedAt: older.startedAt ?? newer.startedAt,
    endedAt: newer.endedAt ?? older.endedAt,
    attempts: [...older.attempts, ...newer.attempts],
    errors: [...older.errors, ...newer.errors],
    failed: [...older.failed, ...newer.failed],
    partials: restarted ? newer.partials : [...older.partials, ...newer.partials].slice(-MAX_PARTIALS),
    partialCount: newer.partialCount + (restarted ? 0 : older.partialCount),
    progress: restarted || newer.endedAt !== null ? newer.progress : (newer.progress ?? older.progress),
    retryIn: restarted ? newer.retryIn : (newer.retryIn ?? older.retryIn),
    asked: newer.asked.reduce(addMoment, older.asked),
    answered: newer.answered.reduce(addMoment, older.answered),
    purpose: newer.purpose ?? older.purpose,
  };
}

/** Add the decision that a server tells to an answer that came too late. An expired request has none. */
export function addDecision(history: History, requestId: string, decision: DecisionInfo): History {
  const { outcome, answer, at, answered_by: by = null } = decision;
  if (!at || outcome === "expired" || outcome === "withdrawn") return history;
  // of a long answer, only the outcome is told
  const decided = history.purpose === "wallet" ? { status: outcome } : { approved: outcome === "approved" };
  const value = answer ?? (outcome === "answered" ? null : decided);
  return { ...history, answered: addMoment(history.answered, { requestId, at, value, by }) };
}

/** An attempt that has ended or runs: when it began, the seconds that it took, and its error if another followed. */
export interface AttemptSummary {
  readonly number: number;
  readonly at: string;
  readonly seconds: number | null;
  readonly error: Failure | null;
}

/** The attempts of a call, in order. One that a stopped process handed back has no error, and begins again. */
export function attemptsOf({ attempts, errors, failed, endedAt }: History): AttemptSummary[] {
  return attempts.map(({ number, at }, place) => {
    const next = attempts[place + 1];
    const failure = next?.number === number ? -1 : failed.findIndex((each) => each.number === number);
    const end = failed[failure]?.at ?? next?.at ?? endedAt;
    return { number, at, seconds: end === null ? null : elapsed(at, end), error: errors[failure] ?? null };
  });
}

export type DecisionKind = "approved" | "rejected" | "answered" | "confirmed" | "failed";

/** What a person decided about a call. */
export interface Decision {
  readonly requestId: string;
  readonly kind: DecisionKind;
  /** The user who decided, if known. */
  readonly by: string | null;
  readonly at: string;
  /** Seconds between the request and its answer. */
  readonly waited: number | null;
  readonly isEdited: boolean;
  /** The answer to a question; null for an approval and for a wallet. */
  readonly given: unknown;
  /** The fields that were edited: their paths, and their values before and after. */
  readonly changes: readonly (readonly [name: string, before: unknown, after: unknown])[];
}

/** The newest decision of a person, or null. Arguments are compared as their tool reads them. */
export function decisionOf(
  { asked, answered, purpose }: History,
  asRead: (given: unknown) => unknown = (given) => given,
): Decision | null {
  const answer = answered.at(-1);
  if (answer === undefined) return null;
  const request = asked.findLast((each) => each.requestId === answer.requestId);
  const given = isFields(answer.value) ? answer.value : {};
  const { requestId, at, by } = answer;
  const waited = request ? elapsed(request.at, at) : null;
  const base = { requestId, at, by, waited, isEdited: false, changes: [], given: null };
  switch (purpose ?? guessPurpose(given)) {
    case "front_end_tool":
      return null;
    case "approval": {
      const isApproved = given["approved"] === true;
      const isEdited = isApproved && isFields(given["arguments"]);
      const changes = isEdited ? differences(asRead(request?.value), asRead(given["arguments"])) : [];
      return { ...base, kind: isApproved ? "approved" : "rejected", isEdited, changes };
    }
    case "wallet": {
      const status = given["status"];
      return {
        ...base,
        kind: status === "confirmed" || status === "rejected" || status === "failed" ? status : "answered",
      };
    }
    default:
      return { ...base, kind: "answered", given: answer.value };
  }
}

/** The purpose of a request whose events, of an earlier version, do not have it: from the answer to it. */
function guessPurpose(answer: Fields): RequestPurpose {
  return typeof answer["approved"] === "boolean" ? "approval" : "question";
}

/** The fields in which two objects differ. A field of an inner object has the names on the way to it. */
export function differences(before: unknown, after: unknown): [string, unknown, unknown][] {
  const [one, other]: [Fields, Fields] = [isFields(before) ? before : {}, isFields(after) ? after : {}];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((name): [string, unknown, unknown][] => {
    const [old, now] = [own(one, name), own(other, name)];
    if (isFields(old) && isFields(now))
      return differences(old, now).map(([inner, ...values]) => [name + STEP + inner, ...values]);
    return isSame(old, now) ? [] : [[name, old, now]];
  });
}

/** Whether two values of JSON are equal. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((each, place) => isSame(each, other[place]));
  }
  if (isExact(one) && isExact(other)) return String(one) === String(other);
  if (!isFields(one) || !isFields(other)) return one === other;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => hasOwn(other, name) && isSame(one[name], other[name]))
  );
}

/** The seconds that a call spent in the queue, waiting for a person, and running (including pauses between attempts). */
export interface TimeSplit {
  readonly queue: number;
  readonly person: number;
  readonly work: number;
}

/** How the time of a call that ended is split. Null if its start is not known. */
export function timeSplit({ startedAt, endedAt, attempts, asked, answered }: History): TimeSplit | null {
  if (startedAt === null || endedAt === null) return null;
  const total = elapsed(startedAt, endedAt);
  const waits = asked.map(({ requestId, at }) => {
    const answer = answered.find((each) => each.requestId === requestId);
    return { at, seconds: elapsed(at, answer?.at ?? endedAt) };
  });
  const person = sum(waits.map(({ seconds }) => seconds));
  const begun = attempts[0]?.at ?? endedAt;
  const before = sum(waits.filter(({ at }) => at < begun).map(({ seconds }) => seconds));
  const queue = Math.max(0, elapsed(startedAt, begun) - before);
  return { queue, person, work: Math.max(0, total - queue - person) };
}

/** Seconds from the first attempt to the end, as the status of a card shows them. */
export function secondsOf({ attempts, endedAt }: History): number | null {
  const first = attempts[0];
  return first !== undefined && endedAt !== null ? elapsed(first.at, endedAt) : null;
}

/** Add a request or an answer. A later report of the same one replaces it. */
function addMoment(moments: readonly Moment[], moment: Moment): readonly Moment[] {
  return [...moments.filter(({ requestId }) => requestId !== moment.requestId), moment];
}

/** The purpose in the event of a request or an answer. Those of earlier versions may lack it. */
function purposeOf(data: Fields): RequestPurpose | null {
  return (data["purpose"] ?? null) as RequestPurpose | null;
}

function progressOf(data: Fields): Progress {
  const fraction = data["fraction"];
  return {
    stage: String(data["stage"] ?? ""),
    message: String(data["message"] ?? ""),
    fraction: typeof fraction === "number" ? fraction : null,
  };
}

const own = (fields: Fields, name: string) => (hasOwn(fields, name) ? fields[name] : undefined);
const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
const elapsed = (from: string, to: string) => Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);
