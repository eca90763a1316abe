/** The documents of the server's API about tools: `/api/tools`, `/api/tools/{name}` and `/api/statistics`. */
import type { Failure, Fields, ToolInfo } from "./wire.ts";

/** A tool in the manifest. */
export interface ToolEntry extends ToolInfo {
  readonly namespace?: string;
  /** A rule for the model on when to use the tool. */
  readonly usage?: string | null;
  readonly mode?: string;
  readonly group?: string | null;
  readonly tags?: readonly string[];
  readonly channels?: readonly string[] | null;
  readonly gate?: { readonly name: string; readonly open: boolean } | null;
  readonly idempotent?: boolean;
  readonly timeout?: number | null;
  /** Where calls run if there is an engine; null: by mode. */
  readonly placement?: string | null;
  readonly queue?: string | null;
  readonly estimated_duration?: number | null;
  readonly examples?: readonly Fields[];
  readonly output_schema?: Fields | null;
  /** The tool in each dialect. One that cannot express it has `error` and `path`. */
  readonly schemas?: Readonly<Record<string, Fields>>;
}

export interface ToolPage {
  readonly tools: readonly ToolEntry[];
  readonly next: string | null;
}

/** The policies that calls of a tool follow. Times are in seconds. */
export interface ToolPolicies {
  readonly timeout: number | null;
  readonly total_timeout: number | null;
  readonly inline_budget: number;
  readonly concurrency: number | null;
  readonly expires: number | null;
  readonly retry: {
    readonly max_attempts: number;
    readonly strategy: string;
    readonly base_delay: number;
    readonly max_delay: number;
    readonly retry_on: readonly string[];
  };
  readonly breaker: { readonly scope: string; readonly failure_threshold: number; readonly recovery_time: number };
}

export interface BreakerInfo {
  readonly scope: string;
  readonly target: string | null;
  readonly state: string;
  /** Seconds until a call is let through. */
  readonly refused_for: number;
}

/** The counters of a tool since the server process started. Times are in seconds. */
export interface ToolCounters {
  readonly calls: number;
  readonly successes: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly cancellations: number;
  readonly retries: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly success_rate: number | null;
  readonly last_error_at: string | null;
  readonly breaker: string;
}

/** A tool in detail. Older servers have no policies. */
export interface ToolDetails {
  readonly tool: ToolEntry;
  readonly policies?: ToolPolicies;
  readonly breakers: readonly BreakerInfo[];
  readonly statistics: ToolCounters | null;
}

/** The calls that ended in a minute. */
export interface MinuteInfo {
  readonly start: string;
  readonly calls: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly cancellations: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** The response to a call by hand. */
export interface OutcomeInfo {
  readonly status: string;
  readonly execution_id: string;
  readonly call_id: string;
  readonly tool: string;
  readonly value?: unknown;
  readonly error?: Failure | null;
}
