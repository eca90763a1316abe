/**
 * Hints between the tabs of one browser that something has changed. A hint has no content: tabs may belong to different
 * users, so each tab asks the server itself.
 */
export type Change = "sessions" | "requests";

const NAME = "callboard";
const KNOWN: ReadonlySet<unknown> = new Set<Change>(["sessions", "requests"]);
const PAUSE = 150; // milliseconds in which changes are collected

export class TabChannel {
  readonly #channel: BroadcastChannel | null;
  readonly #onChange: (change: Change) => void;
  readonly #shared = new Set<Change>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onChange: (change: Change) => void) {
    this.#onChange = onChange;
    this.#channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(NAME) : null;
    this.#channel?.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
      if (KNOWN.has(data)) onChange(data as Change);
    });
  }

  /** Tell this tab and the others, once for changes that follow each other. */
  share(change: Change): void {
    this.#shared.add(change);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const each of this.#shared) {
        this.#channel?.postMessage(each);
        this.#onChange(each);
      }
      this.#shared.clear();
    }, PAUSE);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#channel?.close();
  }
}
