/** The rows of a table of sessions: merged from pages, sorted by a column. Pure functions. */
import type { SessionInfo } from "../api/wire.ts";
import { tokensOf } from "./usage.ts";

export const COLUMNS = ["title", "status", "activity", "calls", "tokens", "cost", "waiting"] as const;

export type Column = (typeof COLUMNS)[number];

export type SessionStatus = "running" | "waiting" | "closed" | "idle";

export interface Order {
  readonly column: Column;
  readonly isDescending: boolean;
}

export const NEWEST_FIRST: Order = { column: "activity", isDescending: true };

const STATUS_ORDER: readonly SessionStatus[] = ["running", "waiting", "idle", "closed"];

export function statusOf(session: SessionInfo): SessionStatus {
  if (session.running) return "running";
  if (Number(session.waiting ?? 0) > 0) return "waiting";
  return session.open === false ? "closed" : "idle";
}

/** Replace known sessions by their newer state, and add new ones. */
export function mergeSessions(known: readonly SessionInfo[], newer: readonly SessionInfo[]): SessionInfo[] {
  const rows = new Map(known.map((each) => [each.session_id, each]));
  for (const each of newer) rows.set(each.session_id, each);
  return [...rows.values()];
}

/** Sort sessions by a column. Sessions without a value come last in both directions; equal ones by activity. */
export function sortSessions(sessions: readonly SessionInfo[], { column, isDescending }: Order): SessionInfo[] {
  const sign = isDescending ? -1 : 1;
  return [...sessions].sort((one, other) => {
    const [a, b] = [valueOf(one, column), valueOf(other, column)];
    if (a === null || b === null) return a === b ? byActivity(one, other) : a === null ? 1 : -1;
    const compared = typeof a === "string" && typeof b === "string" ? a.localeCompare(b) : Number(a) - Number(b);
    return compared * sign || byActivity(one, other);
  });
}

/** The order after a click on a column: the other direction, or the natural one of a new column. */
export function nextOrder(order: Order, column: Column): Order {
  if (order.column === column) return { column, isDescending: !order.isDescending };
  return { column, isDescending: column !== "title" && column !== "status" };
}

function valueOf(session: SessionInfo, column: Column): string | number | null {
  switch (column) {
    case "title":
      return session.title ?? null;
    case "status":
      return STATUS_ORDER.indexOf(statusOf(session));
    case "activity":
      return activityOf(session);
    case "calls":
      return session.calls ?? null;
    case "tokens":
      return session.usage ? tokensOf(session.usage) : null;
    case "cost":
      return session.usage?.cost ?? null;
    case "waiting":
      return Number(session.waiting ?? 0);
  }
}

const activityOf = (session: SessionInfo) => session.last_activity_at ?? session.created_at ?? null;

const byActivity = (one: SessionInfo, other: SessionInfo) =>
  (activityOf(other) ?? "").localeCompare(activityOf(one) ?? "");
