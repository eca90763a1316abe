/**
 * Errors of calls: their categories, and the translation of any thrown value to a `ToolError`.
 *
 * The categories and their rules are those of Callboard's server, without the ones that a page cannot know.
 */
import { $ZodError } from "zod/v4/core";

/** Why a call failed, which decides what happens next. */
export type ErrorCategory =
  /** The arguments do not fit the tool's schema. */
  | "validation"
  /** The handler failed in a way that says nothing about another attempt. */
  | "execution"
  /** An attempt, or the whole execution, took too long. */
  | "timeout"
  /** The call was cancelled. */
  | "cancelled"
  /** Something outside failed for the moment: the network, a server. */
  | "transient"
  /** The same call will fail again. */
  | "permanent"
  /** Nothing better is known. */
  | "unknown";

/** The rule of every category, for errors that do not set their own `retryable` or message. */
export const CATEGORIES: Readonly<Record<ErrorCategory, { readonly retryable: boolean; readonly message: string }>> = {
  validation: { retryable: false, message: "The arguments are not valid. Correct them and call again." },
  execution: { retryable: false, message: "The tool failed while it ran." },
  timeout: { retryable: true, message: "The tool did not finish in time." },
  cancelled: { retryable: false, message: "The call was cancelled." },
  transient: { retryable: true, message: "A service that the tool needs is not available at the moment." },
  permanent: { retryable: false, message: "The tool cannot carry out this call; trying again will not help." },
  unknown: { retryable: false, message: "The tool failed for an unknown reason." },
};

/** One argument that does not fit. */
export interface ToolValidationError {
  /** Place of the value, such as `lines[0].sku`; empty for the arguments as a whole. */
  readonly path: string;
  readonly message: string;
  /** The value that was received; undefined for a missing property. */
  readonly received: unknown;
}

export interface ToolErrorOptions {
  /** Default: `execution`. */
  readonly category?: ErrorCategory | undefined;
  readonly cause?: unknown;
  readonly retryable?: boolean | undefined;
  readonly retryAfter?: number | undefined;
  readonly validationErrors?: readonly ToolValidationError[] | undefined;
}

/** A call failed. Throw it from a handler, with a message that the model can act on. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly category: ErrorCategory;
  /**
   * Set to true, it states that nothing was done, so that another attempt is safe even for a tool that is not
   * idempotent. Set to false, there is no other attempt. Undefined, the category and the tool decide.
   */
  readonly retryable: boolean | undefined;
  /** Milliseconds to wait at least before another attempt. */
  readonly retryAfter: number | undefined;
  /** The arguments that do not fit, of an error of the category `validation`. */
  readonly validationErrors: readonly ToolValidationError[];

  constructor(message: string, options: ToolErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.category = options.category ?? "execution";
    this.retryable = options.retryable;
    this.retryAfter = options.retryAfter;
    this.validationErrors = options.validationErrors ?? [];
  }

  /** Whether another attempt may help: the error's own `retryable` if it is set, otherwise the category's. */
  get mayRetry(): boolean {
    return this.retryable ?? CATEGORIES[this.category].retryable;
  }

  /** Return the error as JSON data for a model, in the form of Callboard's server: times are in seconds there. */
  toModel(): Record<string, unknown> {
    return {
      category: this.category,
      message: shorten(this.message, MAX_MESSAGE),
      ...(this.validationErrors.length > 0 && { details: this.validationErrors.map(forModel) }),
      ...(this.retryAfter !== undefined && { retry_after: this.retryAfter / 1_000 }),
    };
  }
}

/** A tool, or a registry's change, is not possible as it is written. The message says what to change. */
export class RegistrationError extends Error {
  override readonly name = "RegistrationError";
}

/**
 * Translate anything that was thrown to a `ToolError`. A `ToolError` is returned as it is.
 *
 * @param fallback the category of a value that no rule knows
 */
export function categorizeError(error: unknown, fallback: ErrorCategory = "unknown"): ToolError {
  if (error instanceof ToolError) return error;
  if (error instanceof $ZodError) return validationError(error.issues, error);
  const message = messageOf(error);
  const name = textOf(error, "name");
  if (name === "AbortError")
    return new ToolError(CATEGORIES.cancelled.message, { category: "cancelled", cause: error });
  const status = statusOf(error);
  if (status !== undefined) return httpError(status, retryAfterOf(error), error);
  if (name === "TimeoutError" || TIMEOUT_CODES.has(codeOf(error))) return translated("timeout");
  if (name === "NetworkError" || NETWORK_CODES.has(codeOf(error)) || isFailedFetch(error))
    return translated("transient");
  return translated(fallback);

  function translated(category: ErrorCategory): ToolError {
    return new ToolError(message || CATEGORIES[category].message, { category, cause: error });
  }
}

/** An issue that Zod found. */
interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly input?: unknown;
}

/** Make the error that lists what Zod found, in words that a model can act on. */
export function validationError(issues: readonly Issue[], cause?: unknown): ToolError {
  const validationErrors = issues.slice(0, MAX_PROBLEMS).map((issue) => ({
    path: issue.path
      .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
      .join("")
      .replace(/^\./, ""),
    message: issue.message,
    received: issue.input,
  }));
  const lines = validationErrors.map((problem) => `- ${problem.path || "arguments"}: ${problem.message}`);
  if (issues.length > lines.length) lines.push(`- and ${issues.length - lines.length} more`);
  const message = [CATEGORIES.validation.message, ...lines].join("\n");
  return new ToolError(message, { category: "validation", cause, validationErrors });
}

const MAX_PROBLEMS = 20;
const MAX_MESSAGE = 2_000;
const MAX_RECEIVED = 200;
const MAX_RETRY_AFTER = 86_400_000;

const TIMEOUT_CODES: ReadonlySet<unknown> = new Set(["ETIMEDOUT", "ECONNABORTED", "UND_ERR_CONNECT_TIMEOUT"]);
const NETWORK_CODES: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EAI_AGAIN",
  "ENETUNREACH",
  "ENOTFOUND",
  "EPIPE",
  "UND_ERR_SOCKET",
]);
/** How Chromium, Firefox, Safari and Node word a request that got no response. Other TypeErrors are faults in code. */
const FAILED_FETCH = /failed to fetch|networkerror when attempting to fetch|load failed|fetch failed|network error/i;

function isFailedFetch(error: unknown): boolean {
  return error instanceof TypeError && FAILED_FETCH.test(error.message);
}

function httpError(status: number, retryAfter: number | undefined, cause: unknown): ToolError {
  const category = categoryOfStatus(status);
  return new ToolError(
    `A service that the tool uses responded with HTTP status ${status}. ${CATEGORIES[category].message}`,
    {
      category,
      cause,
      retryAfter,
      retryable: status === 429 ? true : undefined, // too many requests: this one was refused, so nothing was done
    },
  );
}

function categoryOfStatus(status: number): ErrorCategory {
  if (status === 408 || status === 504) return "timeout";
  if (status === 425 || status === 429) return "transient";
  return status >= 500 && status !== 501 ? "transient" : "permanent";
}

/** Return the error status of a `Response`, of an error with a `status`, or of an error with a `response`. */
function statusOf(error: unknown): number | undefined {
  const status = field(error, "status") ?? field(error, "statusCode") ?? field(field(error, "response"), "status");
  return typeof status === "number" && status >= 400 && status <= 599 ? status : undefined;
}

/** Parse the `Retry-After` header of an error's response: seconds, or a date. Returns milliseconds. */
function retryAfterOf(error: unknown): number | undefined {
  const headers = field(field(error, "response"), "headers") ?? field(error, "headers");
  const value =
    headers instanceof Headers
      ? headers.get("retry-after")
      : (field(headers, "retry-after") ?? field(headers, "Retry-After"));
  if ((typeof value !== "string" && typeof value !== "number") || value === "") return undefined;
  const milliseconds = Number.isNaN(Number(value)) ? Date.parse(String(value)) - Date.now() : Number(value) * 1_000;
  return Number.isNaN(milliseconds) ? undefined : Math.min(Math.max(milliseconds, 0), MAX_RETRY_AFTER);
}

function messageOf(error: unknown): string {
  return typeof error === "string" ? error : textOf(error, "message");
}

function codeOf(error: unknown): unknown {
  return field(error, "code") ?? field(field(error, "cause"), "code");
}

function textOf(value: unknown, name: string): string {
  const text = field(value, name);
  return typeof text === "string" ? text : "";
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function forModel({ path, message, received }: ToolValidationError): Record<string, unknown> {
  if (received === undefined || typeof received === "number" || typeof received === "boolean")
    return { path, message, received };
  try {
    const text = typeof received === "string" ? received : (JSON.stringify(received) ?? typeof received);
    return { path, message, received: shorten(text, MAX_RECEIVED) };
  } catch {
    return { path, message, received: `<${typeof received}>` }; // it refers to itself
  }
}

function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}
