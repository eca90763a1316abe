import { DeniedEvent } from "../events/denied-event.ts";
import { TypedEventTarget } from "../events/typed-event-target.ts";
import { browserStorage } from "../state/storage.ts";

const KEY = "callboard.token";

/** The token of the person: kept for this tab, or on this device if the person chose so. Without storage, in memory. */
export class TokenStore extends TypedEventTarget<{ "callboard-denied": DeniedEvent }> {
  readonly #tab = browserStorage("sessionStorage");
  readonly #device = browserStorage("localStorage");
  #given = "";
  #denied: string | null = null;
  #isUntried = false; // it replaces a refused token, and no response has accepted it yet
  #trial: Promise<unknown> | null = null; // the first request with an untried token

  get(): string {
    return this.#given || this.#tab.get(KEY) || this.#device.get(KEY) || "";
  }

  set(token: string, remember = false): void {
    this.#tab.set(KEY, remember ? null : token || null);
    this.#device.set(KEY, remember ? token || null : null);
    this.#given = "";
    this.#isUntried = this.#denied !== null;
    this.#denied = null;
    if (this.get() !== token) this.#given = token;
  }

  /** Forget the token, in this tab and on this device. */
  forget(): void {
    this.set("");
  }

  /** Use a token that the page around the element has, without storing it. */
  give(token: string): void {
    this.#given = token;
  }

  /** Whether the server has refused the present token, or misses one. */
  get isDenied(): boolean {
    return this.#denied === this.get();
  }

  /** Send a request. The first one with an untried token goes alone: if it is refused, those that wait fail with it. */
  async send<T>(request: () => Promise<T>): Promise<T> {
    while (this.#trial !== null) await this.#trial.catch((error: unknown) => this.#rethrow(error));
    if (!this.#isUntried) return request();
    const trial = request();
    this.#trial = trial;
    try {
      return await trial;
    } finally {
      if (this.#trial === trial) this.#trial = null;
    }
  }

  /** Report that the server has accepted a token. */
  accept(token: string): void {
    if (token === this.get()) this.#isUntried = false;
  }

  /** Report that the server has refused a token, or misses one. A token that was replaced meanwhile does not count. */
  deny(token: string): void {
    if (token !== this.get()) return;
    this.#denied = token;
    this.dispatchEvent(new DeniedEvent(token !== ""));
  }

  #rethrow(error: unknown): void {
    if (this.isDenied) throw error;
  }
}

/** The token for the server of the page, which all its views share. */
export const pageToken = new TokenStore();
