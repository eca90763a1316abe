import { browserStorage } from "../state/storage.ts";

const KEY = "callboard.token";

/** The token of the person: kept for this tab, or on this device if the person chose so. Without storage, in memory. */
export class TokenStore {
  readonly #tab = browserStorage("sessionStorage");
  readonly #device = browserStorage("localStorage");
  #given = "";

  get(): string {
    return this.#given || this.#tab.get(KEY) || this.#device.get(KEY) || "";
  }

  set(token: string, remember = false): void {
    this.#tab.set(KEY, remember ? null : token || null);
    this.#device.set(KEY, remember ? token || null : null);
    this.#given = "";
    if (this.get() !== token) this.#given = token;
  }

  /** Use a token that the page around the element has, without storing it. */
  give(token: string): void {
    this.#given = token;
  }
}
