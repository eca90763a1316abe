/**
 * Requests that are repeated until the server responds, over a connection that is lost and restored.
 *
 * Only requests that may be carried out twice are repeated: those that read, and those with an idempotency key.
 */
import { Problem } from "../api/problem.ts";

const PATIENCE = 5_000; // milliseconds for a response; after some failures more, for slow connections
const MAX_PATIENCE = 20_000;
const PAUSE = 1_000; // milliseconds between two attempts, unless a new connection is there before
const FRESH = 1_000; // milliseconds for which a request is not repeated over a new connection
const AGAIN = Symbol("again"); // the reason to end a request that is repeated at once

/** The milliseconds for the response to an attempt. */
export const patience = (failures: number): number => Math.min(MAX_PATIENCE, PATIENCE * 2 ** Math.max(0, failures - 2));

export interface RepeatOptions {
  /** Whether the response is still of use. Otherwise the result is undefined. */
  isWanted(): boolean;
  /** Whether a response that is a problem is repeated too. Otherwise it is thrown. */
  isRetried?(problem: Problem): boolean;
  /** An attempt had no response. */
  onFailure?(): void;
}

export class Repeater {
  readonly #waiting = new Set<() => void>();

  /** Repeat now: there is a new connection, and older ones may be dead. */
  hurry(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Send a request until there is a response. Raises `Problem`. */
  async send<T>(request: (signal: AbortSignal) => Promise<T>, options: RepeatOptions): Promise<T | undefined> {
    for (let failures = 0; options.isWanted(); failures++) {
      try {
        return await this.#attempt(request, patience(failures));
      } catch (error) {
        if (error === AGAIN) continue;
        if (error instanceof Problem && !options.isRetried?.(error)) throw error;
      }
      if (!options.isWanted()) break;
      options.onFailure?.();
      await this.#pause();
    }
    return undefined;
  }

  async #attempt<T>(request: (signal: AbortSignal) => Promise<T>, timeout: number): Promise<T> {
    const attempt = new AbortController();
    const since = performance.now();
    const timer = setTimeout(() => attempt.abort(), timeout);
    const again = () => {
      if (performance.now() - since > FRESH) attempt.abort(AGAIN);
    };
    this.#waiting.add(again);
    try {
      return await request(attempt.signal);
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(again);
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, PAUSE);
      this.#waiting.add(wake);
    });
  }
}
