/**
 * Carries out calls of tools in the page: attempts, retries, timeouts, cancellation, breakers, statistics, events.
 *
 * Below it is an executor, which carries out one attempt. It knows neither registries nor agents: a call comes with its
 * tool, so a change of a registry does not affect calls that run.
 */
import { ToolExecutionCancelledEvent } from "../events/tool-execution-cancelled.ts";
import { ToolExecutionExecutingEvent } from "../events/tool-execution-executing.ts";
import { ToolExecutionFailedEvent } from "../events/tool-execution-failed.ts";
import { ToolExecutionRetryingEvent } from "../events/tool-execution-retrying.ts";
import { ToolExecutionStartedEvent } from "../events/tool-execution-started.ts";
import { ToolExecutionSucceededEvent } from "../events/tool-execution-succeeded.ts";
import { ToolExecutionValidatingEvent } from "../events/tool-execution-validating.ts";
import { TypedEventTarget } from "../events/typed-event-target.ts";
import { abortable } from "./abortable.ts";
import { Breaker, BreakerOpen, type BreakerStatus } from "./breaker.ts";
import { type Clock, systemClock, type Timer } from "./clock.ts";
import { CATEGORIES, categorizeError, ToolError } from "./errors.ts";
import { ExecutionHistory } from "./execution-history.ts";
import { LiveExecution } from "./live-execution.ts";
import { decide } from "./retry.ts";
import { type ToolExecutor, ValidatingToolExecutor } from "./tool-executor.ts";
import { type Statistics, ToolStats } from "./tool-stats.ts";
import {
  type BreakerPolicy,
  DEFAULT_BREAKER_POLICY,
  DEFAULT_RETRY_CONFIG,
  type RetryConfig,
  type ToolDefinition,
  type ToolExecution,
  type ToolExecutionResult,
} from "./types.ts";

export interface ToolExecutionManagerOptions {
  /** Ended executions that can still be looked up. Default: 100. */
  readonly historyLimit?: number;
  /** Replaces the default policy, each value by itself. */
  readonly breaker?: Partial<BreakerPolicy>;
  /** For tests. Default: the clock of the device. */
  readonly clock?: Clock;
  /** For tests: a random number from 0 to below 1. Default: `Math.random`. */
  readonly random?: () => number;
}

export interface ToolExecutionManagerEventMap {
  "tool-execution-started": ToolExecutionStartedEvent;
  "tool-execution-validating": ToolExecutionValidatingEvent;
  "tool-execution-executing": ToolExecutionExecutingEvent;
  "tool-execution-succeeded": ToolExecutionSucceededEvent;
  "tool-execution-failed": ToolExecutionFailedEvent;
  "tool-execution-retrying": ToolExecutionRetryingEvent;
  "tool-execution-cancelled": ToolExecutionCancelledEvent;
}

/**
 * The events of an execution come in this order: `started`, `validating`, then `executing` for each attempt with a
 * `retrying` between two, and one of `succeeded`, `failed`, `cancelled`. Each has the record of its moment.
 *
 * @fires tool-execution-started - A call was accepted
 * @fires tool-execution-validating - Its arguments are being validated
 * @fires tool-execution-executing - An attempt begins
 * @fires tool-execution-retrying - An attempt failed, and another follows after a delay
 * @fires tool-execution-succeeded - It ended with a result
 * @fires tool-execution-failed - It ended with an error, after all attempts
 * @fires tool-execution-cancelled - It was cancelled
 */
export class ToolExecutionManager extends TypedEventTarget<ToolExecutionManagerEventMap> {
  readonly #executor: ToolExecutor;
  readonly #retryConfig: RetryConfig;
  readonly #breakerPolicy: BreakerPolicy;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #history: ExecutionHistory;
  /** By the names of tools. A tool that has never failed has no breaker. */
  readonly #breakers = new Map<string, Breaker>();
  readonly #stats = new Map<string, ToolStats>();

  constructor(
    executor: ToolExecutor = new ValidatingToolExecutor(),
    defaultRetryConfig: Partial<RetryConfig> = {},
    options: ToolExecutionManagerOptions = {},
  ) {
    super();
    this.#executor = executor;
    this.#retryConfig = { ...DEFAULT_RETRY_CONFIG, ...defaultRetryConfig };
    this.#breakerPolicy = { ...DEFAULT_BREAKER_POLICY, ...options.breaker };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#history = new ExecutionHistory(options.historyLimit ?? 100);
  }

  /**
   * Carry out a call. Never rejects: a failure is part of the result.
   *
   * @param signal cancels the execution when it aborts
   */
  async execute<TArgs>(
    tool: ToolDefinition<TArgs>,
    toolCallId: string,
    args: unknown,
    signal?: AbortSignal,
  ): Promise<ToolExecutionResult> {
    const retryConfig = { ...this.#retryConfig, ...tool.metadata?.retryConfig };
    const execution = new LiveExecution(tool as ToolDefinition, toolCallId, args, retryConfig, this.#clock);
    this.#history.add(execution);
    const cancel = () => this.cancel(execution.id);
    signal?.addEventListener("abort", cancel, { signal: execution.end.signal });
    this.dispatchEvent(new ToolExecutionStartedEvent({ execution: execution.record }));
    if (signal?.aborted) cancel();
    await this.#carryOut(execution);
    return execution.outcome;
  }

  /** Cancel an execution. Returns whether it was running. Its handler's signal aborts; its end does not wait for that. */
  cancel(executionId: string): boolean {
    const execution = this.#history.get(executionId);
    if (execution === undefined || execution.ended) return false;
    this.#fail(execution, new ToolError(CATEGORIES.cancelled.message, { category: "cancelled" }));
    return true;
  }

  /** Cancel all executions. Returns how many were running. */
  cancelAll(): number {
    return this.#history.all().filter((execution) => this.cancel(execution.id)).length;
  }

  /** Return the record of an execution, as it is now; undefined if it is no longer known. */
  getExecution(executionId: string): ToolExecution | undefined {
    return this.#history.get(executionId)?.record;
  }

  /** Return the records of all executions of a call, oldest first. */
  getExecutionsForToolCall(toolCallId: string): ToolExecution[] {
    return this.#history
      .all()
      .map(({ record }) => record)
      .filter((record) => record.toolCallId === toolCallId);
  }

  /** Return the statistics of a tool since its last reset. */
  stats(toolName: string): Statistics {
    return this.#statsOf(toolName).read(this.breaker(toolName).state);
  }

  /** Return the state of a tool's breaker. */
  breaker(toolName: string): BreakerStatus {
    const breaker = this.#breakers.get(toolName);
    const state = breaker?.state ?? "closed";
    const refusedFor = breaker?.refusedFor(this.#clock.monotonic()) ?? 0;
    return { state: state === "open" && refusedFor === 0 ? "half_open" : state, refusedFor };
  }

  /** Reset the statistics of one tool, or of all. Breakers keep their state. */
  resetStats(toolName?: string): void {
    if (toolName === undefined) this.#stats.clear();
    else this.#stats.delete(toolName);
  }

  async #carryOut(execution: LiveExecution): Promise<void> {
    if (execution.ended) return;
    execution.validate();
    this.dispatchEvent(new ToolExecutionValidatingEvent({ execution: execution.record }));
    const { totalTimeout } = execution.tool.metadata ?? {};
    const timer = this.#after(totalTimeout, () => this.#fail(execution, timedOut(execution, false)));
    while (!execution.ended) {
      try {
        this.#succeed(execution, await this.#attempt(execution));
      } catch (error) {
        await this.#afterFailure(execution, categorizeError(error, "execution"));
      }
    }
    timer?.cancel();
  }

  /** Carry out one attempt. Rejects as soon as it is stopped, also if the executor does not. */
  async #attempt(execution: LiveExecution): Promise<string> {
    const attempt = execution.nextAttempt();
    const { id, toolCallId, args, retry } = execution.record;
    const { attemptNumber, maxAttempts } = retry;
    const context = { executionId: id, toolCallId, signal: attempt.signal, attemptNumber, maxAttempts };
    const timer = this.#after(execution.tool.metadata?.timeout, () => attempt.abort(timedOut(execution)));
    const enter = () => {
      if (!execution.isInHandler) this.#enter(execution, attempt.signal);
    };
    try {
      const work = this.#executor.execute(execution.tool, structuredClone(args), context, enter);
      const result = await abortable(work, attempt.signal);
      enter(); // an executor of your own need not say when it begins
      return result;
    } finally {
      timer?.cancel();
    }
  }

  /** Let the handler of an attempt be called, or throw. */
  #enter(execution: LiveExecution, signal: AbortSignal): void {
    signal.throwIfAborted();
    const { id, tool } = execution;
    const refusedFor = this.#breakers.get(tool.name)?.admit(id, this.#clock.monotonic());
    if (refusedFor !== undefined) throw new BreakerOpen(tool.name, refusedFor);
    execution.enterHandler();
    this.dispatchEvent(new ToolExecutionExecutingEvent({ execution: execution.record }));
    signal.throwIfAborted(); // a listener may have cancelled it
  }

  /** Wait for the next attempt, or end the execution. */
  async #afterFailure(execution: LiveExecution, error: ToolError): Promise<void> {
    if (execution.ended) return; // it was stopped from outside, and its attempt rejected for that reason
    const { attemptNumber: attempt, maxAttempts: maximum } = execution.record.retry;
    const idempotent = execution.tool.metadata?.idempotent ?? false;
    const decision = decide(execution.retryConfig, error, { attempt, idempotent, chance: this.#random() });
    if (error.category === "cancelled" || !decision.retry) return this.#fail(execution, error);
    this.#leaveHandler(execution, error);
    execution.retryAfter(error);
    this.#statsOf(execution.tool.name).retried();
    const { delayMs } = decision;
    const detail = { execution: execution.record, attempt, maximum, error, delayMs };
    this.dispatchEvent(new ToolExecutionRetryingEvent(detail));
    await this.#delay(delayMs, execution.end.signal);
  }

  #succeed(execution: LiveExecution, result: string): void {
    if (execution.ended) return; // it was cancelled after its handler had returned
    this.#breakers.get(execution.tool.name)?.succeeded(execution.id);
    execution.succeed(result);
    this.#statsOf(execution.tool.name).ended(execution.duration);
    this.#history.noteEnd(execution);
    this.dispatchEvent(new ToolExecutionSucceededEvent({ execution: execution.record, result }));
  }

  /** End an execution with an error: as failed, or as cancelled if that is the error's category. */
  #fail(execution: LiveExecution, error: ToolError): void {
    this.#leaveHandler(execution, error);
    execution.fail(error);
    this.#statsOf(execution.tool.name).failed(error.category, execution.duration, this.#clock.time());
    this.#history.noteEnd(execution);
    const { record } = execution;
    if (record.status === "cancelled") this.dispatchEvent(new ToolExecutionCancelledEvent({ execution: record }));
    else this.dispatchEvent(new ToolExecutionFailedEvent({ execution: record, error }));
  }

  /** Count the failure of an attempt, if the breaker let it through. */
  #leaveHandler(execution: LiveExecution, error: ToolError): void {
    if (!execution.isInHandler) return;
    execution.leaveHandler();
    const { name, metadata } = execution.tool;
    const breaker = this.#breakers.get(name) ?? new Breaker({ ...this.#breakerPolicy, ...metadata?.breaker });
    this.#breakers.set(name, breaker);
    breaker.failed(execution.id, error.category, this.#clock.monotonic());
  }

  #statsOf(toolName: string): ToolStats {
    const stats = this.#stats.get(toolName) ?? new ToolStats();
    this.#stats.set(toolName, stats);
    return stats;
  }

  #after(delay: number | undefined, callback: () => void): Timer | undefined {
    return delay === undefined ? undefined : this.#clock.callLater(delay, callback);
  }

  /** Wait, but no longer than until the signal aborts. */
  #delay(delayMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const timer = this.#clock.callLater(delayMs, resolve);
      signal.addEventListener("abort", () => {
        timer.cancel();
        resolve();
      });
    });
  }
}

/** Return the error of an attempt that took too long; not retryable if the whole execution did. */
function timedOut({ tool }: LiveExecution, retryable?: boolean): ToolError {
  const message = `The tool ${tool.name} did not finish in time. It is not known whether it took effect.`;
  return new ToolError(message, { category: "timeout", retryable });
}
