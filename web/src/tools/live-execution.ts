/** The state of one execution while it runs. Each change makes a new record; `lifecycle` says which are possible. */
import type { Clock } from "./clock.ts";
import type { ToolError } from "./errors.ts";
import { isTerminal, move } from "./lifecycle.ts";
import { newId } from "./new-id.ts";
import type { RetryConfig, ToolDefinition, ToolExecution, ToolExecutionResult, ToolExecutionStatus } from "./types.ts";

/** An execution that its manager carries out. */
export class LiveExecution {
  readonly tool: ToolDefinition;
  readonly retryConfig: RetryConfig;
  /** Aborted at the end, whatever it is. Ends the delay before a retry. */
  readonly end = new AbortController();
  readonly #clock: Clock;
  readonly #queuedAt: number;
  #record: ToolExecution;
  /** Of the current attempt. */
  #attempt = new AbortController();
  #isInHandler = false;

  constructor(tool: ToolDefinition, toolCallId: string, args: unknown, retryConfig: RetryConfig, clock: Clock) {
    this.tool = tool;
    this.retryConfig = retryConfig;
    this.#clock = clock;
    this.#queuedAt = clock.monotonic();
    this.#record = Object.freeze({
      id: newId("exec_"),
      toolCallId,
      toolName: tool.name,
      args,
      status: "pending",
      result: undefined,
      error: undefined,
      timing: Object.freeze({
        queuedAt: clock.time(),
        startedAt: undefined,
        completedAt: undefined,
        duration: undefined,
      }),
      retry: Object.freeze({
        attemptNumber: 0,
        maxAttempts: retryConfig.maxAttempts,
        previousErrors: Object.freeze([]),
      }),
    });
  }

  get record(): ToolExecution {
    return this.#record;
  }

  get id(): string {
    return this.#record.id;
  }

  get ended(): boolean {
    return isTerminal(this.#record.status);
  }

  /** From the call to the end; 0 before the end. */
  get duration(): number {
    return this.#record.timing.duration ?? 0;
  }

  /** The end, once there is one. */
  get outcome(): ToolExecutionResult {
    const { result, error } = this.#record;
    if (error !== undefined) return { success: false, error };
    if (result !== undefined) return { success: true, result };
    throw new Error("the execution has not ended");
  }

  validate(): void {
    this.#change("validating", {});
  }

  /** Begin an attempt. Returns the controller that stops it. */
  nextAttempt(): AbortController {
    const { retry } = this.#record;
    this.#attempt = new AbortController();
    this.#replace({ retry: Object.freeze({ ...retry, attemptNumber: retry.attemptNumber + 1 }) });
    return this.#attempt;
  }

  /** Whether the handler of the current attempt was called, and the attempt continues. */
  get isInHandler(): boolean {
    return this.#isInHandler;
  }

  /** The handler of the attempt is called next. */
  enterHandler(): void {
    const { timing } = this.#record;
    this.#isInHandler = true;
    this.#change("executing", {
      timing: Object.freeze({ ...timing, startedAt: timing.startedAt ?? this.#clock.time() }),
    });
  }

  leaveHandler(): void {
    this.#isInHandler = false;
  }

  /** Keep the error of an attempt that is followed by another. */
  retryAfter(error: ToolError): void {
    const { retry } = this.#record;
    this.#replace({
      retry: Object.freeze({ ...retry, previousErrors: Object.freeze([...retry.previousErrors, error]) }),
    });
  }

  succeed(result: string): void {
    this.#complete("succeeded", { result }, undefined);
  }

  /** End with an error, and abort the attempt with it. */
  fail(error: ToolError): void {
    this.#complete(error.category === "cancelled" ? "cancelled" : "failed", { error }, error);
  }

  #complete(status: ToolExecutionStatus, fields: Partial<ToolExecution>, reason: ToolError | undefined): void {
    const duration = this.#clock.monotonic() - this.#queuedAt;
    const timing = Object.freeze({ ...this.#record.timing, completedAt: this.#clock.time(), duration });
    this.#change(status, { ...fields, timing });
    this.end.abort(reason);
    if (reason !== undefined) this.#attempt.abort(reason);
  }

  #change(status: ToolExecutionStatus, fields: Partial<ToolExecution>): void {
    this.#replace({ ...fields, status: move(this.#record.status, status) });
  }

  #replace(fields: Partial<ToolExecution>): void {
    this.#record = Object.freeze({ ...this.#record, ...fields });
  }
}
