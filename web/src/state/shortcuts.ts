/** The keys of the page. Pure functions, except for the clock that ends a sequence. */

export type Action = "shortcuts" | "message" | "new" | "close" | "chat" | "inbox" | "tools" | "operations" | "api";

/** A key that was pressed. */
export interface Key {
  readonly key: string;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
}

const SEQUENCE = 1_500; // milliseconds between the keys of a sequence

/** The keys after `g`, and where they go. */
const PLACES: Readonly<Record<string, Action>> = { c: "chat", i: "inbox", t: "tools", o: "operations", a: "api" };

/** Reads keys, of which some have a meaning only after another. */
export class Shortcuts {
  readonly #now: () => number;
  #goingSince = -Infinity;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Return what a key means. `isWriting` if it goes into a field. */
  read({ key, altKey, ctrlKey, metaKey }: Key, isWriting: boolean): Action | null {
    const isGoing = this.#now() - this.#goingSince < SEQUENCE;
    this.#goingSince = -Infinity;
    if (ctrlKey || metaKey) return null;
    if (altKey) return key.toLowerCase() === "n" ? "new" : null;
    if (key === "Escape") return "close";
    if (isWriting) return null;
    if (isGoing) return PLACES[key] ?? null;
    if (key === "g") this.#goingSince = this.#now();
    return key === "?" ? "shortcuts" : key === "/" ? "message" : null;
  }
}
