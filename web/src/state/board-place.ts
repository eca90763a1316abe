/** What a person looks at in a timeline, kept for a reload of the page. */
import { type BoardFilter, readFilter } from "./board-filter.ts";
import type { TextStorage } from "./storage.ts";
import type { TimeWindow } from "./time-scale.ts";

const KEY = "callboard.timeline";

/** The first row in view: the number of its event, and the pixels by which it is scrolled. */
export interface Anchor {
  readonly seq: number;
  readonly offset: number;
}

export class BoardPlace {
  filter: BoardFilter;
  /** The times in view. Null for all. */
  window: TimeWindow | null;
  /** The event that the keyboard is at. 0 for none. */
  active: number;
  /** The event whose details are open. 0 for none. */
  opened: number;
  follows: boolean;
  skipsIdle: boolean;
  anchor: Anchor | null;
  readonly #storage: TextStorage;
  readonly #session: string;

  /** Read the place in the timeline of a conversation. Only that of the last conversation is stored. */
  constructor(storage: TextStorage, session: string) {
    this.#storage = storage;
    this.#session = session;
    const read = parse(storage.get(KEY));
    const stored = read["session"] === session ? read : {};
    this.filter = readFilter(stored["filter"]);
    this.window = readWindow(stored["window"]);
    this.active = count(stored["active"]);
    this.opened = count(stored["opened"]);
    this.follows = stored["follows"] !== false;
    this.skipsIdle = read["skipsIdle"] !== false;
    this.anchor = readAnchor(stored["anchor"]);
  }

  keep(anchor: Anchor | null): void {
    const { filter, window, active, opened, follows, skipsIdle } = this;
    const place = { session: this.#session, filter, window, active, opened, follows, skipsIdle, anchor };
    this.#storage.set(KEY, JSON.stringify(place));
  }
}

function parse(text: string | null): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse(text ?? "{}");
    return typeof read === "object" && read !== null ? (read as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const count = (value: unknown) => (Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0);

function readWindow(value: unknown): TimeWindow | null {
  const { from, to } = (value ?? {}) as Partial<Record<string, unknown>>;
  return Number.isFinite(from) && Number.isFinite(to) && (from as number) < (to as number)
    ? { from: from as number, to: to as number }
    : null;
}

function readAnchor(value: unknown): Anchor | null {
  const { seq, offset } = (value ?? {}) as Partial<Record<string, unknown>>;
  return count(seq) > 0 ? { seq: count(seq), offset: Number.isFinite(offset) ? (offset as number) : 0 } : null;
}
