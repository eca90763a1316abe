/** A lock that one tab of the browser holds at a time. */

/** The part of `navigator.locks` that is used. */
export type Locks = Pick<LockManager, "request">;

/** The browser's locks. A page without HTTPS has none, and is then the only holder of its locks. */
export const browserLocks = (): Locks | null => globalThis.navigator?.locks ?? null;

export class ExclusiveLock {
  readonly #name: string;
  readonly #locks: Locks | null;
  #release: (() => void) | null = null;

  constructor(name: string, locks: Locks | null = browserLocks()) {
    this.#name = name;
    this.#locks = locks;
  }

  get isHeld(): boolean {
    return this.#release !== null;
  }

  /** Take the lock if it is free. Returns whether this holds it. */
  async take(): Promise<boolean> {
    return this.#request({ ifAvailable: true });
  }

  /** Wait for the lock. Returns false if the signal aborts first. */
  async wait(signal: AbortSignal): Promise<boolean> {
    return this.#request({ signal });
  }

  release(): void {
    this.#release?.();
    this.#release = null;
  }

  async #request(options: LockOptions): Promise<boolean> {
    if (this.isHeld) return true;
    if (this.#locks === null) {
      this.#release = () => undefined;
      return true;
    }
    const locks = this.#locks;
    return new Promise((answer) => {
      const held = locks.request(this.#name, options, (lock) => {
        answer(lock !== null);
        return lock === null ? undefined : new Promise<void>((release) => (this.#release = release));
      });
      held.catch(() => answer(false)); // aborted
    });
  }
}
