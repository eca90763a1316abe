type Grant = (lock: Lock | null) => unknown;

/** Locks of one browser, for tests of several tabs in one process. */
export class FakeLocks {
  readonly #held = new Set<string>();
  #waiting: { readonly name: string; readonly run: () => void }[] = [];

  request = (async (name: string, options: LockOptions, grant: Grant) => {
    const { ifAvailable = false, signal } = options;
    if (this.#held.has(name)) {
      if (ifAvailable) return grant(null);
      await new Promise<void>((resolve, reject) => {
        const waiting = { name, run: resolve };
        this.#waiting.push(waiting);
        signal?.addEventListener("abort", () => {
          this.#waiting = this.#waiting.filter((each) => each !== waiting);
          reject(signal.reason as Error);
        });
      });
    }
    this.#held.add(name);
    try {
      return await grant({ name, mode: "exclusive" } as Lock);
    } finally {
      this.release(name);
    }
  }) as LockManager["request"];

  /** Release a lock, as the end of its tab does. */
  release(name: string): void {
    this.#held.delete(name);
    const next = this.#waiting.find((each) => each.name === name);
    this.#waiting = this.#waiting.filter((each) => each !== next);
    next?.run();
  }
}
