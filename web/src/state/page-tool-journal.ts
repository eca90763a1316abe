/**
 * What this browser has done with the calls of its tools, in a storage that outlives the page.
 *
 * After a reload, or in another tab, it tells a call that never began from one whose end is not known, and has the
 * outcome of one that ended before the server had it.
 */
import type { Failure } from "../api/wire.ts";
import { browserStorage, type TextStorage } from "./storage.ts";

const PREFIX = "callboard.page-tool.";
const LIST = "callboard.page-tools";
const KEPT_FOR = 7 * 86_400_000; // milliseconds
const MAX_KEPT = 100;
const MAX_LENGTH = 100_000; // characters of a stored outcome

/** The end of a call, as it is sent to the server. */
export type PageOutcome = { readonly answer: unknown } | { readonly error: Failure };

/** What is known of a call. */
export interface JournalEntry {
  readonly hasBegun: boolean;
  readonly outcome: PageOutcome | null;
}

const NOTHING: JournalEntry = { hasBegun: false, outcome: null };

export class PageToolJournal {
  readonly #storage: TextStorage;

  constructor(storage = browserStorage("localStorage")) {
    this.#storage = storage;
  }

  /** Whether the browser stores anything. */
  get isLasting(): boolean {
    this.#storage.set(`${LIST}.probe`, "1");
    const isStored = this.#storage.get(`${LIST}.probe`) !== null;
    this.#storage.set(`${LIST}.probe`, null);
    return isStored;
  }

  read(requestId: string): JournalEntry {
    const stored = this.#storage.get(PREFIX + requestId);
    if (stored === null) return NOTHING;
    try {
      return { hasBegun: true, outcome: (JSON.parse(stored) as { outcome?: PageOutcome }).outcome ?? null };
    } catch {
      return { hasBegun: true, outcome: null };
    }
  }

  /** Note that a call begins. */
  begin(requestId: string, now = Date.now()): void {
    if (!this.read(requestId).hasBegun) this.#list(requestId, now);
    this.#storage.set(PREFIX + requestId, "{}");
  }

  /** Note the outcome of a call. A long one is not stored: then its end is unknown after a reload. */
  end(requestId: string, outcome: PageOutcome): void {
    const text = JSON.stringify({ outcome });
    this.#storage.set(PREFIX + requestId, text.length > MAX_LENGTH ? "{}" : text);
  }

  /** Remember the entry, and remove old ones. */
  #list(requestId: string, now: number): void {
    const known = [...this.#listed(), [requestId, now] as const];
    const kept = known.slice(-MAX_KEPT).filter(([, at]) => now - at < KEPT_FOR);
    const ids = new Set(kept.map(([id]) => id));
    for (const [id] of known) if (!ids.has(id)) this.#storage.set(PREFIX + id, null);
    this.#storage.set(LIST, JSON.stringify(kept));
  }

  #listed(): (readonly [id: string, at: number])[] {
    try {
      return JSON.parse(this.#storage.get(LIST) ?? "[]") as [string, number][];
    } catch {
      return [];
    }
  }
}
