/** The documents of the server's API, as far as the page reads them. `docs/server.md` and `/openapi.json` have the rest. */

import { isPlain } from "./exact-integer.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** An error of a call. */
export interface Failure {
  readonly category?: string;
  readonly message?: string;
  readonly details?: { readonly decision?: string };
}

/** An event of the board. Pieces of streamed text have no `seq`. */
export interface BoardEvent {
  readonly seq?: number;
  readonly kind: string;
  readonly at: string;
  readonly data: Fields;
}

/** A call in a message of the model. */
export interface MessageCall {
  readonly call_id: string;
  readonly tool: string;
  readonly arguments: Fields;
}

/** A message of the transcript. */
export type TranscriptMessage =
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text?: string; readonly calls?: readonly MessageCall[] }
  | { readonly role: "tool"; readonly call_id: string; readonly content: unknown; readonly failed?: boolean };

/** An execution in a snapshot or a list. */
export interface ExecutionInfo {
  readonly execution_id: string;
  readonly call_id: string;
  readonly tool: string;
  readonly status: string;
  readonly arguments?: unknown;
  readonly value?: unknown;
  readonly error?: Failure | null;
  readonly attempt?: number;
  readonly max_attempts?: number;
  readonly previous_errors?: readonly Failure[];
}

/** The purpose of a request, which its event has, and that of its answer. A newer server may have further ones. */
export type RequestPurpose = "approval" | "question" | "wallet" | "front_end_tool";

/** How a request to a person was closed. */
export interface DecisionInfo {
  readonly outcome: "approved" | "rejected" | "answered" | "expired" | "withdrawn";
  readonly answer?: unknown;
  /** Whether the answer was left out because of its length. */
  readonly is_cut?: boolean;
  readonly answered_by?: string | null;
  readonly at?: string | null;
}

/** An open request to a person. */
export interface RequestInfo {
  readonly request_id: string;
  readonly execution_id: string;
  readonly call_id?: string;
  readonly tool: string;
  readonly purpose?: RequestPurpose | null;
  readonly payload?: unknown;
  readonly answer_schema?: Schema | null;
  /** The hash of the payload; null if the payload is left out. */
  readonly arguments_hash?: string | null;
  readonly expires_at?: string | null;
  /** Fields that a list or a state leaves out because of their length. */
  readonly cut?: Readonly<Record<string, { readonly excerpt: string }>> | null;
}

/** The state of a session: `/api/state`, and the first event of a stream. */
export interface Snapshot {
  readonly messages?: readonly TranscriptMessage[];
  readonly messages_next?: number | null;
  readonly is_processing?: boolean;
  readonly open_requests?: readonly RequestInfo[];
  readonly executions?: readonly ExecutionInfo[];
  readonly last_seq?: number;
}

/** A conversation in the list of sessions. Older servers have neither titles nor activity. */
export interface SessionInfo {
  readonly session_id: string;
  readonly title?: string | null;
  readonly created_at?: string;
  readonly last_activity_at?: string | null;
  readonly waiting?: number | boolean | null;
  readonly running?: number | boolean | null;
  readonly open?: boolean;
  readonly namespaces?: readonly string[] | null;
  readonly tools?: readonly string[];
  readonly calls?: number | null;
  readonly usage?: UsageInfo | null;
  /** The number of its newest event. */
  readonly last_seq?: number;
}

/** The usage of the model by a conversation. The cost is an estimate in US dollars, without the unpriced requests. */
export interface UsageInfo {
  readonly requests: number;
  readonly tool_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number | null;
  readonly unpriced_requests: number;
}

/** A page of past events. */
export interface EventPage {
  readonly events: readonly BoardEvent[];
  readonly next: number | null;
}

/** A page of earlier messages. */
export interface MessagePage {
  readonly messages: readonly TranscriptMessage[];
  readonly next: number | null;
}

/** The tools that a conversation can use. */
export interface ToolList {
  readonly tools: readonly ToolInfo[];
}

/** A tool as the manifest describes it. */
export interface ToolInfo {
  readonly name: string;
  readonly namespace?: string;
  readonly title?: string | null;
  readonly description?: string;
  readonly input_schema?: Schema;
}

/** The part of JSON Schema that forms are made from. */
export interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

/** Whether a value is an object with fields, and neither null nor a list. */
export function isFields(value: unknown): value is Fields {
  return !isPlain(value) && value !== null && !Array.isArray(value);
}

/** Whether a value is an object with this field, and not only with one that every object has, such as `constructor`. */
export function hasOwn(value: unknown, name: string): value is Fields {
  return isFields(value) && Object.hasOwn(value, name);
}
