/**
 * The history of a call, computed from its events: attempts, errors, partial results, requests to people, and times.
 *
 * Histories of adjacent ranges of events can be joined, so that neither live events nor pages of past events have to be
 * kept. Pure functions: no DOM, no network.
 */
import { isFields, type BoardEvent, type Failure, type Fields } from "../api/wire.ts";

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
}

export interface History {
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly attempts: readonly Attempt[];
  readonly errors: readonly Failure[];
  /** The newest partial results of the newest attempt. */
  readonly partials: readonly unknown[];
  /** The number of all its partial results. */
  readonly partialCount: number;
  readonly progress: Progress | null;
  /** Seconds until the next attempt, while the call waits for it. */
  readonly retryIn: number | null;
  readonly asked: readonly Moment[];
  readonly answered: readonly Moment[];
}

export const EMPTY_HISTORY: History = Object.freeze({
  startedAt: null,
  endedAt: null,
  attempts: [],
  errors: [],
  partials: [],
  partialCount: 0,
  progress: null,
  retryIn: null,
  asked: [],
  answered: [],
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
      return { ...history, errors, retryIn: Number(data["delay"] ?? 0) };
    }
    case "human_request":
    case "wallet_tx_request": {
      const request = { requestId: String(data["request_id"]), at, value: data["payload"] ?? data };
      return { ...history, asked: [...history.asked, request] };
    }
    case "human_answer":
    case "wallet_tx_response": {
      const answer = {
        requestId: String(data["request_id"]),
        at,
        value: kind === "human_answer" ? data["answer"] : data,
      };
      return { ...history, answered: [...history.answered, answer] };
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
    partials: restarted ? newer.partials : [...older.partials, ...newer.partials].slice(-MAX_PARTIALS),
    partialCount: newer.partialCount + (restarted ? 0 : older.partialCount),
    progress: restarted || newer.endedAt !== null ? newer.progress : (newer.progress ?? older.progress),
    retryIn: restarted ? newer.retryIn : (newer.retryIn ?? older.retryIn),
    asked: [...older.asked, ...newer.asked],
    answered: [...older.answered, ...newer.answered],
  };
}

export type DecisionKind = "approved" | "rejected" | "answered" | "confirmed" | "failed";

/** What a person decided about a call. */
export interface Decision {
  readonly kind: DecisionKind;
  readonly at: string;
  /** Seconds between the request and its answer. */
  readonly waited: number | null;
  readonly isEdited: boolean;
  /** The fields that were edited: their names, and their values before and after. */
  readonly changes: readonly (readonly [name: string, before: unknown, after: unknown])[];
}

/** The newest decision of a person, or null. */
export function decisionOf({ asked, answered }: History): Decision | null {
  const answer = answered.at(-1);
  if (answer === undefined) return null;
  const request = asked.findLast((each) => each.requestId === answer.requestId);
  const given = isFields(answer.value) ? answer.value : {};
  const base = { at: answer.at, waited: request ? elapsed(request.at, answer.at) : null, isEdited: false, changes: [] };
  if (typeof given["approved"] === "boolean") {
    const isEdited = given["approved"] && isFields(given["arguments"]);
    const changes = isEdited ? differences(request?.value, given["arguments"]) : [];
    return { ...base, kind: given["approved"] ? "approved" : "rejected", isEdited, changes };
  }
  const status = given["status"];
  const kind = status === "confirmed" || status === "rejected" || status === "failed" ? status : "answered";
  return { ...base, kind };
}

/** The fields in which two objects differ. */
export function differences(before: unknown, after: unknown): [string, unknown, unknown][] {
  const [one, other]: [Fields, Fields] = [isFields(before) ? before : {}, isFields(after) ? after : {}];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])]
    .map((name): [string, unknown, unknown] => [name, one[name], other[name]])
    .filter(([, old, now]) => JSON.stringify(old) !== JSON.stringify(now));
}

/** The seconds that a call spent in the queue, waiting for a person, and at work (including pauses between attempts). */
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

function progressOf(data: Fields): Progress {
  const fraction = data["fraction"];
  return {
    stage: String(data["stage"] ?? ""),
    message: String(data["message"] ?? ""),
    fraction: typeof fraction === "number" ? fraction : null,
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
const elapsed = (from: string, to: string) => Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);
