/** Which events of the board are shown, and the list of them, which follows a log that grows at both ends. */
import { Deque } from "./deque.ts";
import type { Entry, Family } from "./board-entry.ts";

export interface BoardFilter {
  /** Words that an event must contain, in any order and case. */
  readonly text: string;
  /** The kinds. Empty for all. */
  readonly kinds: readonly string[];
  readonly family: Family | "";
  /** Whether only failures are shown. */
  readonly failed: boolean;
}

export const NO_FILTER: BoardFilter = Object.freeze({ text: "", kinds: [], family: "", failed: false });

export function isFiltered({ text, kinds, family, failed }: BoardFilter): boolean {
  return text.trim() !== "" || kinds.length > 0 || family !== "" || failed;
}

/** Make a function that says whether an event is shown. */
export function matcher(filter: BoardFilter): (entry: Entry) => boolean {
  const kinds = filter.kinds.length > 0 ? new Set(filter.kinds) : null;
  const words = filter.text
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => new RegExp(word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "i"));
  const { family, failed } = filter;
  return (entry) =>
    (!failed || entry.failed) &&
    (family === "" || entry.family === family) &&
    (kinds === null || kinds.has(entry.kind)) &&
    words.every(
      (word) =>
        word.test(entry.text) ||
        word.test(entry.tool) ||
        word.test(entry.kind) ||
        entry.status.match(word) !== null ||
        [entry.call, entry.request, entry.turn].some((id) => id !== "" && word.test(id)),
    );
}

/** Read a stored filter. Anything that is not valid is left out. */
export function readFilter(stored: unknown): BoardFilter {
  const given = (typeof stored === "object" && stored !== null ? stored : {}) as Partial<
    Record<keyof BoardFilter, unknown>
  >;
  const { text, kinds, family, failed } = given;
  return {
    text: typeof text === "string" ? text : "",
    kinds: Array.isArray(kinds) ? kinds.filter((kind) => typeof kind === "string") : [],
    family: family === "chat" || family === "system" ? family : "",
    failed: failed === true,
  };
}

const SLICE = 512; // entries between two looks at the clock

/** The entries of a log that a filter shows. They are found in slices, from the newest backwards, so that no scan blocks the page. */
export class FilteredEntries {
  readonly entries = new Deque<Entry>();
  readonly #isShown: (entry: Entry) => boolean;
  #low: number | null = null; // the scanned part of the log: from this number
  #high = 0; // up to this number

  constructor(filter: BoardFilter) {
    this.#isShown = matcher(filter);
  }

  /** Scan what is new in the log, for some milliseconds. Returns whether all of it is scanned. */
  advance(log: Deque<Entry>, budget = Infinity): boolean {
    const [first, last] = [log.first, log.last];
    if (first === undefined || last === undefined) return true;
    const end = performance.now() + budget;
    if (this.#low === null) {
      this.#low = last.seq + 1;
      this.#high = last.seq;
    }
    const isOver = (count: number) => count % SLICE === 0 && performance.now() > end;
    for (let count = 1; this.#high < last.seq; count++) {
      const entry = log.at(++this.#high - first.seq);
      if (entry !== undefined && this.#isShown(entry)) this.entries.addNewest(entry);
      if (isOver(count)) return false;
    }
    for (let count = 1; this.#low > first.seq; count++) {
      const entry = log.at(--this.#low - first.seq);
      if (entry !== undefined && this.#isShown(entry)) this.entries.addOldest(entry);
      if (isOver(count)) return false;
    }
    return true;
  }

  /** Forget the entries before a number. */
  dropBefore(seq: number): void {
    this.entries.dropOldest(this.entries.search((entry) => entry.seq < seq));
    if (this.#low !== null) this.#low = Math.max(this.#low, seq);
  }

  /** The position of an event, or of the first one after it. */
  position(seq: number): number {
    return this.entries.search((entry) => entry.seq < seq);
  }
}
