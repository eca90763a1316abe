/** The records of the browser's tool system. All times and durations are in milliseconds. */
import type { $ZodType } from "zod/v4/core";
import type { ErrorCategory, ToolError } from "./errors.ts";

/** A tool that runs in the page. Its schema may be made with `zod` or `zod/mini`. */
export interface ToolDefinition<TArgs = unknown> {
  /** Letters, digits, `_` and `-`, at most 64, beginning with a letter or `_`. */
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description: string;
  /** The arguments: an object, whose properties should have descriptions. */
  readonly schema: $ZodType<TArgs>;
  readonly metadata?: ToolMetadata;
  /**
   * Carry out one attempt, and return the result for the model: a text, or JSON. Throw a `ToolError` to choose the
   * category of a failure. An attempt that is cancelled or late aborts `context.signal`, and its result is discarded.
   */
  handler(args: TArgs, context: ToolExecutionContext): string | Promise<string>;
}

/** What is known of a tool beside its schema. */
export interface ToolMetadata {
  /** Name for people. Default: the tool's name in words. */
  readonly title?: string;
  readonly category?: string;
  /** Whether a second run does no harm. Only such a tool is retried after an error that may have had an effect. */
  readonly idempotent?: boolean;
  /** Expected duration, for people. */
  readonly estimatedDuration?: number;
  /** Replaces the manager's values, each by itself. */
  readonly retryConfig?: Partial<RetryConfig>;
  readonly tags?: readonly string[];
  /** Time limit of one attempt. Default: none. */
  readonly timeout?: number;
  /** Time limit of the whole execution, with its retries. Default: none. */
  readonly totalTimeout?: number;
  /** Replaces the manager's values, each by itself. */
  readonly breaker?: Partial<BreakerPolicy>;
}

/** The state of an execution. */
export type ToolExecutionStatus =
  /** Accepted; nothing has been done. */
  | "pending"
  /** Its arguments are being validated. */
  | "validating"
  /** An attempt is running, or the delay before the next one. */
  | "executing"
  /** It ended with a result. */
  | "succeeded"
  /** It ended with an error, after all attempts. */
  | "failed"
  /** It was cancelled. */
  | "cancelled";

/** What a handler knows of its attempt. */
export interface ToolExecutionContext {
  readonly executionId: string;
  /** The id that the model gave the call. The same for all attempts, so it can serve as an idempotency key. */
  readonly toolCallId: string;
  /** Aborted when the attempt is cancelled or out of time. */
  readonly signal: AbortSignal;
  /** Counted from 1. */
  readonly attemptNumber: number;
  readonly maxAttempts: number;
}

/** The record of one execution at one moment. It never changes: each event has the record of its own moment. */
export interface ToolExecution {
  readonly id: string;
  readonly toolCallId: string;
  readonly toolName: string;
  /** The arguments as the model wrote them. */
  readonly args: unknown;
  readonly status: ToolExecutionStatus;
  readonly result: string | undefined;
  readonly error: ToolError | undefined;
  readonly timing: ToolExecutionTiming;
  readonly retry: ToolExecutionRetry;
}

export interface ToolExecutionTiming {
  /** Time of the call, since the epoch. */
  readonly queuedAt: number;
  /** Time of the first attempt. */
  readonly startedAt: number | undefined;
  readonly completedAt: number | undefined;
  /** From the call to the end, by a clock that does not jump. */
  readonly duration: number | undefined;
}

export interface ToolExecutionRetry {
  /** The newest attempt, counted from 1; 0 before the first. */
  readonly attemptNumber: number;
  readonly maxAttempts: number;
  /** The errors of attempts that were followed by another, oldest first. */
  readonly previousErrors: readonly ToolError[];
}

/** The end of an execution. */
export type ToolExecutionResult =
  { readonly success: true; readonly result: string } | { readonly success: false; readonly error: ToolError };

/** How often a failed attempt is repeated, and after which delay. */
export interface RetryConfig {
  /** Attempts in all, with the first. */
  readonly maxAttempts: number;
  /** Upper limit of the first delay. The delay itself is random, from 0 to its limit (full jitter). */
  readonly baseDelayMs: number;
  /** Upper limit of every delay. An error that asks for a longer one (`retryAfter`) ends the execution. */
  readonly maxDelayMs: number;
  /** Factor from one limit to the next. */
  readonly multiplier: number;
  /** The categories that are retried. */
  readonly retryOn: readonly ErrorCategory[];
}

export const DEFAULT_RETRY_CONFIG: RetryConfig = {
  maxAttempts: 3,
  baseDelayMs: 1_000,
  maxDelayMs: 30_000,
  multiplier: 2,
  retryOn: ["transient", "timeout"],
};

/** When calls of a failing tool are refused, and for how long. */
export interface BreakerPolicy {
  /** Failures in a row that open the breaker. */
  readonly failureThreshold: number;
  /** Time for which an open breaker refuses every call. */
  readonly recoveryTime: number;
  /** Successful probes that close it again. */
  readonly successThreshold: number;
}

export const DEFAULT_BREAKER_POLICY: BreakerPolicy = { failureThreshold: 5, recoveryTime: 60_000, successThreshold: 2 };
