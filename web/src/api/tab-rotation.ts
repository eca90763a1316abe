import { newId } from "./ids.ts";

const MAX_OTHERS = 3; // tabs that may be used since a hidden one was, before it rests

/**
 * Tells a hidden tab to rest after others were used, so that only the newest tabs keep a stream.
 *
 * A browser opens six connections to a server. Without a limit, the seventh tab could not even load its page.
 */
export class TabRotation {
  readonly #id = newId();
  readonly #others = new Set<string>(); // the tabs that were used since this one was
  readonly #channel: BroadcastChannel | null;
  readonly #onRest: () => void;

  constructor(onRest: () => void) {
    this.#onRest = onRest;
    this.#channel = globalThis.document === undefined ? null : new BroadcastChannel("callboard.tabs");
    this.#channel?.addEventListener("message", ({ data }) => {
      this.#others.add(String(data));
      this.check();
    });
  }

  /** Announce this tab, if it is visible. */
  use(): void {
    if (globalThis.document?.hidden) return;
    this.#others.clear();
    this.#channel?.postMessage(this.#id);
  }

  /** Rest, if this tab is hidden and enough others were used. */
  check(): void {
    if (globalThis.document?.hidden && this.#others.size >= MAX_OTHERS) this.#onRest();
  }

  close(): void {
    this.#channel?.close();
  }
}
