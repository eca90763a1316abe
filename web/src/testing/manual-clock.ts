import type { Clock, Timer } from "../tools/clock.ts";

/** A clock for tests: time passes only in `advance`, and timers fire in order. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #epoch: number;
  #timers: { at: number; callback: () => void }[] = [];

  constructor(epoch = 1_800_000_000_000) {
    this.#epoch = epoch;
  }

  /** The number of pending timers. */
  get pending(): number {
    return this.#timers.length;
  }

  time(): number {
    return this.#epoch + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  callLater(delay: number, callback: () => void): Timer {
    const timer = { at: this.#now + Math.max(delay, 0), callback };
    this.#timers.push(timer);
    return { cancel: () => void (this.#timers = this.#timers.filter((each) => each !== timer)) };
  }

  /** Advance the time. Each timer fires at its own time, and what it resumes runs before the next. */
  async advance(milliseconds: number): Promise<void> {
    const target = this.#now + milliseconds;
    await settle();
    for (;;) {
      const next = this.#timers.toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > target) break;
      this.#timers = this.#timers.filter((each) => each !== next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await settle();
    }
    this.#now = target;
  }
}

/** Let everything run that needs no time to pass. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 25; turn++) await Promise.resolve();
}
