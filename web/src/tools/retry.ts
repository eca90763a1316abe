/** The decision whether a failed attempt is retried, and when. Pure functions: the caller acts on the decision. */
import type { ToolError } from "./errors.ts";
import type { RetryConfig } from "./types.ts";

/** Whether to retry, and after which delay. */
export type Decision =
  { readonly retry: true; readonly delayMs: number } | { readonly retry: false; readonly reason: string };

/** What the decision depends on beside the policy and the error. */
export interface FailedAttempt {
  /** Counted from 1. */
  readonly attempt: number;
  readonly idempotent: boolean;
  /** Random, from 0 to below 1. */
  readonly chance: number;
}

/**
 * Decide what follows the failure of an attempt.
 *
 * A tool that is not idempotent is retried only when the error says that nothing was done: `retryable` is true.
 */
export function decide(
  config: RetryConfig,
  error: ToolError,
  { attempt, idempotent, chance }: FailedAttempt,
): Decision {
  if (attempt >= config.maxAttempts) return no("no attempts are left");
  if (error.retryable === false) return no("the error says that another attempt will not help");
  if (error.retryable === undefined) {
    if (!config.retryOn.includes(error.category)) return no(`${error.category} is not retried`);
    if (!idempotent) return no("the tool is not idempotent, and it may have taken effect");
  }
  const retryAfter = error.retryAfter ?? 0;
  if (retryAfter > config.maxDelayMs) return no("it may be tried again only later than the policy waits");
  return { retry: true, delayMs: Math.max(backoff(config, attempt, chance), retryAfter) };
}

/** Return the delay after an attempt: random, up to a limit that grows exponentially and has a maximum. */
export function backoff(config: RetryConfig, attempt: number, chance: number): number {
  return Math.min(config.baseDelayMs * config.multiplier ** (attempt - 1), config.maxDelayMs) * chance;
}

function no(reason: string): Decision {
  return { retry: false, reason };
}
