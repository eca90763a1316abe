/** The requests that were answered in this browser, so that a card can say whether you decided here. */
import { texts } from "../texts.ts";
import { browserStorage, type TextStorage } from "./storage.ts";

const KEY = "callboard.answered";
const MAX = 500;
/** The user of a server that requires no sign-in. */
const LOCAL = "local";

export class AnsweredHere {
  readonly #storage: TextStorage;

  constructor(storage: TextStorage = browserStorage("localStorage")) {
    this.#storage = storage;
  }

  has(requestId: string): boolean {
    return this.#ids().includes(requestId);
  }

  add(requestId: string): void {
    const ids = this.#ids().filter((each) => each !== requestId);
    this.#storage.set(KEY, JSON.stringify([...ids, requestId].slice(-MAX)));
  }

  remove(requestId: string): void {
    const ids = this.#ids();
    if (ids.includes(requestId)) this.#storage.set(KEY, JSON.stringify(ids.filter((each) => each !== requestId)));
  }

  /** Read from the storage each time, because other tabs write it too. */
  #ids(): string[] {
    try {
      const found: unknown = JSON.parse(this.#storage.get(KEY) ?? "[]");
      return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
    } catch {
      return [];
    }
  }
}

export const answeredHere = new AnsweredHere();

/** Who decided: you in this browser, or the user whom the server names, elsewhere. */
export function whoDecided({ requestId, by }: { readonly requestId: string; readonly by: string | null }): string {
  if (answeredHere.has(requestId)) return texts.byYou;
  return by === null || by === LOCAL ? texts.elsewhere : texts.byUser(by);
}
