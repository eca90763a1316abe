/** A conversation that is being changed: the copy from which `reducer.ts` makes the next state. */
import {
  type BoardEvent,
  type ExecutionInfo,
  type Failure,
  type Fields,
  isFields,
  type RequestInfo,
  type TranscriptMessage,
} from "../api/wire.ts";
import { texts } from "../texts.ts";
import { type Call, type CallStatus, type Conversation, type Item, newCall } from "./conversation.ts";
import { openRequest } from "./open-request.ts";
import { FRONT_END_TOOL } from "./page-run.ts";
import { endStatus, parseResult } from "./results.ts";

/** Statuses of an acknowledgement, and the status of the call. */
const ACKNOWLEDGED: Readonly<Record<string, CallStatus>> = {
  started: "executing",
  queued: "pending",
  waiting: "waiting",
};

export class Draft {
  items: Item[];
  readonly calls: Map<string, Call>;
  readonly uncertain: Set<string>;
  isProcessing: boolean;
  unreported: string[];
  readonly #keys: Map<string, string>;
  readonly #requests: Map<string, string>;
  readonly #owners: Map<string, string>;
  readonly #late: Map<string, string>;
  #live: Conversation["live"];
  #count: number;

  constructor(from: Conversation) {
    this.items = [...from.items];
    this.calls = new Map(from.calls);
    this.uncertain = new Set(from.uncertain);
    this.isProcessing = from.isProcessing;
    this.unreported = [...from.unreported];
    this.#keys = new Map(from.keys);
    this.#requests = new Map(from.requests);
    this.#owners = new Map(from.owners);
    this.#late = new Map(from.late);
    this.#live = from.live;
    this.#count = from.count;
  }

  done(): Conversation {
    return {
      items: this.items,
      calls: this.calls,
      keys: this.#keys,
      requests: this.#requests,
      owners: this.#owners,
      late: this.#late,
      uncertain: this.uncertain,
      isProcessing: this.isProcessing,
      live: this.#live,
      unreported: this.unreported,
      count: this.#count,
    };
  }

  // Calls

  /** Find a call by the first of some ids that is known. */
  find(...ids: unknown[]): Call | undefined {
    for (const id of ids) {
      const key = typeof id === "string" ? this.#keys.get(id) : undefined;
      if (key !== undefined) return this.calls.get(key);
    }
    return undefined;
  }

  /** Find the call of an event. */
  callOf({ kind, data }: Pick<BoardEvent, "kind" | "data">): Call | undefined {
    const requestId = data["request_id"];
    if (kind === "human_answer" || kind === "wallet_tx_response") {
      return this.calls.get(this.#owners.get(String(requestId)) ?? "");
    }
    const call = this.find(data["execution_id"], data["call_id"]);
    if (call !== undefined && typeof requestId === "string") this.#owners.set(requestId, call.key);
    return call;
  }

  change(key: string, changes: Partial<Call>): Call {
    const call = { ...(this.calls.get(key) as Call), ...changes };
    this.calls.set(key, call);
    return call;
  }

  /** Make a call known under another id. */
  name(key: string, id: unknown): void {
    if (typeof id === "string") this.#keys.set(id, key);
  }

  /** Add the call of an event or a message, unless it is known. */
  start(data: Fields, status: CallStatus = "pending"): Call {
    const { execution_id: executionId, call_id: callId, tool } = data;
    let call = this.find(executionId, callId);
    if (call === undefined) {
      const key = this.#newKey();
      call = newCall(key, { tool: String(tool), arguments: data["arguments"] ?? {}, status });
      this.calls.set(key, call);
      this.items.push({ type: "call", key });
    }
    this.name(call.key, executionId);
    this.name(call.key, callId);
    const ids = {
      ...(typeof executionId === "string" ? { executionId } : {}),
      ...(typeof callId === "string" ? { callId } : {}),
    };
    return this.change(call.key, ids);
  }

  /** Apply an execution of a snapshot, which is open. */
  applyExecution(execution: ExecutionInfo): void {
    const { attempt = 1, max_attempts: maximum = 1, previous_errors: previousErrors = [] } = execution;
    const call = this.start({ ...execution });
    const errors = previousErrors.length > 0 ? previousErrors : call.previousErrors;
    // one that waits without a request waits for its next attempt or for a slot
    const paused: CallStatus = errors.length > 0 ? "retrying" : "pending";
    const status = execution.status === "waiting" ? paused : (execution.status as CallStatus);
    this.change(call.key, { status, attempt, maximum, value: undefined, previousErrors: errors });
  }

  /** Remember that the next message of the model reports the late result of a call. */
  reportLate(callId: unknown, given: unknown): void {
    const executionId = isFields(given) ? String(given["execution_id"]) : "";
    if (callId !== null) this.#late.set(String(callId), executionId);
    this.unreported.push(executionId);
  }

  // Messages

  addMessage(message: TranscriptMessage): void {
    if (message.role === "user") this.addText("user", message.text);
    else if (message.role === "tool") this.#applyResult(message.call_id, message.content, Boolean(message.failed));
    else {
      if (message.text) this.addText("model", message.text);
      for (const call of message.calls ?? []) {
        if (isLate({ ...call })) this.reportLate(call.call_id, call.arguments);
        else if (this.find(call.call_id) === undefined) this.start({ ...call }, "executing");
      }
    }
  }

  addText(role: "user" | "model", text: string, isLive = false): string {
    const key = this.#newKey();
    const reports = role === "model" ? this.unreported.splice(0) : [];
    this.items.push({ type: "message", key, role, text, isLive, reports });
    return key;
  }

  addNotice(level: "plain" | "error", text: string, canRetry = false): void {
    this.items.push({ type: "notice", key: this.#newKey(), level, text, canRetry });
  }

  /** Withdraw the offer to retry a failed turn, because another turn has begun. */
  closeRetries(): void {
    for (let place = this.items.length - 1; place >= 0; place--) {
      const item = this.items[place];
      if (item?.type === "notice" && item.canRetry) this.items[place] = { ...item, canRetry: false };
      if (item?.type === "message") return;
    }
  }

  /** Take a piece of a message, or the whole message, which is returned. */
  takeText({ delta, text, turn_id: turn }: Fields): string | null {
    const live = this.#live?.turn === turn ? this.#live : null;
    if (typeof text !== "string") {
      if (live?.isInterrupted) return null;
      this.#live = live ?? { key: this.addText("model", "", true), turn };
      this.#changeText(this.#live.key, (before) => before + String(delta ?? ""), true);
      return null;
    }
    if (live === null) this.addText("model", text);
    else this.#changeText(live.key, () => text, false);
    this.#live = null;
    return text;
  }

  endTurn(): void {
    this.isProcessing = false;
    if (this.#live?.isInterrupted) this.items = this.items.filter(({ key }) => key !== this.#live?.key);
    else if (this.#live !== null) this.#changeText(this.#live.key, (text) => text, false);
    this.#live = null;
  }

  // Requests

  /** Add a request to a person or a page. Returns a text for screen readers. */
  addRequest(data: RequestInfo, payload: unknown): string | null {
    const call = this.start({ ...data });
    const request = openRequest(data, payload);
    const history = { ...call.history, purpose: data.purpose ?? call.history.purpose };
    this.change(call.key, { status: "waiting", request, history });
    this.#owners.set(request.id, call.key);
    this.#requests.set(request.id, call.key);
    return request.purpose === FRONT_END_TOOL ? null : texts.callWaits(call.tool);
  }

  /** Set the whole of an open request. An approval is about its payload, which the state of the call may lack too. */
  completeRequest(info: RequestInfo): void {
    const call = this.calls.get(this.#requests.get(info.request_id) ?? "");
    if (call === undefined) return;
    const request = openRequest(info);
    this.change(call.key, request.purpose === "approval" ? { request, arguments: request.payload } : { request });
  }

  closeRequest(id: string): void {
    const key = this.#requests.get(id);
    this.#requests.delete(id);
    const call = key === undefined ? undefined : this.calls.get(key);
    if (call === undefined) return;
    this.change(call.key, { request: null, status: call.status === "waiting" ? "pending" : call.status });
  }

  #applyResult(callId: string, content: unknown, failed: boolean): void {
    const call = this.find(this.#late.get(callId) ?? callId);
    if (call === undefined) return;
    const value = parseResult(content);
    const acknowledged = this.#acknowledged(content, failed);
    if (acknowledged !== null) {
      if (call.executionId !== null) return; // its present status is known
      this.name(call.key, acknowledged.executionId);
      const status = call.status === "waiting" ? call.status : acknowledged.status;
      this.change(call.key, { executionId: acknowledged.executionId, status });
    } else if (failed) {
      const error = (isFields(value) ? value : { category: "", message: String(value) }) as Failure;
      this.change(call.key, {
        status: endStatus(error.category === "cancelled" ? "cancelled" : "failed", error),
        error,
      });
    } else this.change(call.key, { status: "succeeded", value });
  }

  /** Read an acknowledgement, which is data; a text may only look like one. */
  #acknowledged(content: unknown, failed: boolean): { executionId: string; status: CallStatus } | null {
    if (failed || !isFields(content) || typeof content["execution_id"] !== "string") return null;
    const status = ACKNOWLEDGED[String(content["status"])];
    return status === undefined ? null : { executionId: content["execution_id"], status };
  }

  #changeText(key: string, change: (text: string) => string, isLive: boolean): void {
    const place = this.items.findLastIndex((item) => item.key === key);
    const item = this.items[place];
    if (item?.type === "message") this.items[place] = { ...item, text: change(item.text), isLive };
  }

  #newKey(): string {
    return `i${this.#count++}`;
  }
}

/** Whether a call only carries the late result of another one. */
export function isLate(call: Fields): boolean {
  return call["tool"] === "task_result" && String(call["call_id"]).startsWith("late_");
}
