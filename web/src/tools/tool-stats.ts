/** Statistics per tool: counters, times and percentiles, in constant memory. The names are those of Callboard's server. */
import type { BreakerState } from "./breaker.ts";
import type { ErrorCategory } from "./errors.ts";
import { QuantileSketch } from "./quantile-sketch.ts";

/** The statistics of one tool since its last reset. Times are in milliseconds. */
export interface Statistics {
  readonly calls: number;
  readonly successes: number;
  /** Failures by error category, without cancelled calls. */
  readonly failures: Readonly<Partial<Record<ErrorCategory, number>>>;
  readonly cancellations: number;
  readonly retries: number;
  readonly totalTime: number;
  readonly averageTime: number | undefined;
  readonly p50: number | undefined;
  readonly p95: number | undefined;
  readonly p99: number | undefined;
  /** Share of successes among the calls that were not cancelled. */
  readonly successRate: number | undefined;
  /** Time of the newest failure, since the epoch. */
  readonly lastErrorAt: number | undefined;
  readonly breaker: BreakerState;
}

/** Live counters of one tool. */
export class ToolStats {
  #calls = 0;
  #failures = new Map<ErrorCategory, number>();
  #cancellations = 0;
  #retries = 0;
  #totalTime = 0;
  #durations = new QuantileSketch();
  #lastErrorAt: number | undefined;

  /** Record the duration of a call that ended. */
  ended(duration: number): void {
    this.#calls += 1;
    this.#totalTime += duration;
    this.#durations.add(duration);
  }

  /** Record a call that failed or was cancelled. */
  failed(category: ErrorCategory, duration: number, at: number): void {
    if (category === "cancelled") {
      this.#cancellations += 1;
    } else {
      this.#failures.set(category, (this.#failures.get(category) ?? 0) + 1);
      this.#lastErrorAt = at;
    }
    this.ended(duration);
  }

  /** Record an attempt that is followed by another. */
  retried(): void {
    this.#retries += 1;
  }

  /** Return the current statistics. The state of the breaker is not counted here. */
  read(breaker: BreakerState): Statistics {
    const finished = this.#calls - this.#cancellations;
    const successes = finished - [...this.#failures.values()].reduce((sum, count) => sum + count, 0);
    return {
      calls: this.#calls,
      successes,
      failures: Object.fromEntries(this.#failures),
      cancellations: this.#cancellations,
      retries: this.#retries,
      totalTime: this.#totalTime,
      averageTime: this.#calls > 0 ? this.#totalTime / this.#calls : undefined,
      p50: this.#durations.quantile(0.5),
      p95: this.#durations.quantile(0.95),
      p99: this.#durations.quantile(0.99),
      successRate: finished > 0 ? successes / finished : undefined,
      lastErrorAt: this.#lastErrorAt,
      breaker,
    };
  }
}
