/**
 * The circuit breaker: calls of a tool that keeps failing are refused for a while, then a few probes are let through.
 *
 * A state machine without a clock: methods take the time as an argument. The same as the one of Callboard's server.
 */
import { type ErrorCategory, ToolError } from "./errors.ts";
import type { BreakerPolicy } from "./types.ts";

/** The failures that count. A bad argument or a cancellation says nothing about the tool. */
const COUNTED: ReadonlySet<ErrorCategory> = new Set(["execution", "timeout", "transient", "unknown"]);

/** The calls that a breaker lets through. */
export type BreakerState =
  /** All of them. */
  | "closed"
  /** None, until the recovery time has passed. */
  | "open"
  /** A few probes, to find out whether the tool works again. */
  | "half_open";

/** A breaker as users see it. */
export interface BreakerStatus {
  readonly state: BreakerState;
  /** Milliseconds until a call is let through; 0 if one may be now. */
  readonly refusedFor: number;
}

/** Counts consecutive failures and decides which attempts are let through. */
export class Breaker {
  readonly #policy: BreakerPolicy;
  #state: BreakerState = "closed";
  #failures = 0;
  #successes = 0;
  /** The executions whose attempts are probes. */
  readonly #probes = new Set<string>();
  #openedAt = 0;

  constructor(policy: BreakerPolicy) {
    this.#policy = policy;
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** Return the time for which every attempt is refused; 0 if one may be let through. */
  refusedFor(now: number): number {
    return this.#state === "open" ? Math.max(0, this.#openedAt + this.#policy.recoveryTime - now) : 0;
  }

  /**
   * Let an attempt of an execution through (undefined), or return the time until the next probe.
   *
   * In the half-open state there are at most as many probes at once as successes are still needed.
   */
  admit(executionId: string, now: number): number | undefined {
    if (this.#state === "closed") return undefined;
    if (this.#state === "open") {
      const left = this.refusedFor(now);
      if (left > 0) return left;
      this.#state = "half_open";
      this.#successes = 0;
    }
    if (this.#probes.size >= this.#policy.successThreshold - this.#successes) return this.#policy.recoveryTime;
    this.#probes.add(executionId);
    return undefined;
  }

  /** Count the success of an attempt that was let through. */
  succeeded(executionId: string): void {
    if (this.#state === "half_open") {
      if (!this.#probes.delete(executionId)) return; // it was let through before the breaker opened
      this.#successes += 1;
      if (this.#successes < this.#policy.successThreshold) return;
    } else if (this.#state === "open") {
      return;
    }
    this.#state = "closed";
    this.#failures = 0;
  }

  /** Count the failure of an attempt that was let through. */
  failed(executionId: string, category: ErrorCategory, now: number): void {
    if (this.#state === "half_open" && !this.#probes.delete(executionId)) return;
    if (!COUNTED.has(category) || this.#state === "open") return;
    this.#failures += 1;
    if (this.#state === "half_open" || this.#failures >= this.#policy.failureThreshold) {
      this.#state = "open";
      this.#openedAt = now;
      this.#failures = this.#successes = 0;
      this.#probes.clear();
    }
  }
}

/** A call was refused by an open breaker. Nothing was done. */
export class BreakerOpen extends ToolError {
  constructor(toolName: string, retryAfter: number) {
    const seconds = Math.ceil(retryAfter / 1_000);
    super(`The tool ${toolName} has failed several times in a row and is paused. Try again in ${seconds} seconds.`, {
      category: "transient",
      retryable: false,
      retryAfter,
    });
  }
}
