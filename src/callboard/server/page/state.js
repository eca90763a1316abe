// The page's model of a session: a timeline, built from a snapshot and the events after it. No DOM, no network.

import { callHistory } from "./call_history.js";

const OPEN = new Set(["started", "queued", "waiting"]); // statuses of an acknowledgement
const LIVE = new Set(["pending", "validating", "executing", "retrying", "waiting"]); // statuses of a call before its end
const DECIDED = new Set(["rejected", "expired"]); // ends of a call that depend on a person and are not failures
const CALL_EVENT = /^(tool_|human_|wallet_tx_)/; // events of a call's history

export class State {
  constructor() {
    this.clear();
  }

  clear() {
    this.items = []; // messages, calls and notices in order; each has a `key`
    this.calls = new Map(); // by execution id and by call id
    this.requests = new Map(); // the calls of open requests, by request id
    this.processing = false;
    this.uncertain = new Set(); // calls that may have ended before the snapshot
    this.late = {}; // the execution of each late result, by the id of its call
    this.owners = new Map(); // the call of each request, also of closed ones
    this.past = []; // loaded events from before the snapshot
    this.live = null; // the text that is being streamed
    this.count = 0;
  }

  #add(item) {
    item.key = `i${this.count++}`;
    this.items.push(item);
    return item;
  }

  // A snapshot

  begin(snapshot) {
    this.clear();
    for (const message of snapshot.messages ?? []) this.#message(message);
    for (const execution of snapshot.executions ?? []) {
      const call = this.calls.get(execution.execution_id) ?? this.calls.get(execution.call_id) ?? this.#call(execution);
      this.calls.set(execution.execution_id, call);
      Object.assign(call, {
        executionId: execution.execution_id,
        status: execution.status,
        attempt: execution.attempt,
        maximum: execution.max_attempts,
        value: undefined,
      });
      if (execution.previous_errors?.length) call.errors = execution.previous_errors;
    }
    for (const request of snapshot.open_requests ?? []) this.#addRequest(request, request.payload);
    this.processing = Boolean(snapshot.is_processing);
    const open = new Set((snapshot.executions ?? []).map((each) => each.execution_id));
    this.uncertain = new Set(this.items.filter((item) => isLive(item) && !open.has(item.executionId)));
  }

  /** Add earlier messages from `/api/messages`. */
  prepend(messages) {
    const later = this.items;
    this.items = [];
    for (const message of messages) this.#message(message);
    for (const item of this.items) item.earlier = true;
    this.uncertain = new Set([...this.uncertain, ...this.items.filter(isLive)]); // their results may be in later messages
    this.items.push(...later);
  }

  /** Set the results of calls that ended before the snapshot, from the list of executions. */
  settle(executions) {
    for (const { execution_id: id, call_id: callId, status, value, error } of executions) {
      const call = this.calls.get(id) ?? this.calls.get(callId);
      if (!this.uncertain.has(call) || !isLive(call)) continue;
      Object.assign(call, { executionId: id, status: ended(status, error), value, error });
    }
    this.uncertain.clear();
  }

  /** Add earlier events, oldest first, to the history of the cards. */
  addHistory(events) {
    this.past = [...events.filter((event) => CALL_EVENT.test(event.kind)), ...this.past];
    for (const call of this.calls.values()) call.past = [];
    for (const event of this.past) this.#callOf(event)?.past.push(event);
    for (const call of new Set(this.calls.values())) if (call.past.length) this.#updateHistory(call);
  }

  /** Whether the start of a call is unknown. */
  get lacksHistory() {
    return [...this.calls.values()].some((call) => !call.started);
  }

  /** The call of an event. */
  #callOf({ kind, data }) {
    if (kind === "human_answer" || kind === "wallet_tx_response") return this.owners.get(data.request_id);
    const call = this.calls.get(data.execution_id) ?? this.calls.get(data.call_id);
    if (call && data.request_id) this.owners.set(data.request_id, call);
    return call;
  }

  #updateHistory(call) {
    const { attempts, errors, ...history } = callHistory([...call.past, ...call.recent]);
    Object.assign(call, history, { errors: errors.length ? errors : call.errors });
    const last = attempts.at(-1);
    if (last) Object.assign(call, { attempt: last.number, maximum: last.maximum });
  }

  #message(message) {
    if (message.role === "user") this.#add({ type: "user", text: message.text });
    else if (message.role === "assistant") {
      if (message.text) this.#add({ type: "model", text: message.text });
      for (const call of message.calls ?? []) {
        if (isLate(call)) this.late[call.call_id] = call.arguments.execution_id;
        else if (!this.calls.has(call.call_id)) this.#call({ ...call, status: "executing" });
      }
    } else if (message.role === "tool") this.#applyResult(message);
  }

  #applyResult({ call_id: callId, content, failed }) {
    const call = this.calls.get(this.late[callId] ?? callId);
    if (!call) return;
    const value = parsed(content);
    const isData = typeof content !== "string"; // an acknowledgement is data; text may only look like it
    if (isData && !failed && OPEN.has(value?.status) && value.execution_id) {
      if (call.executionId) return; // its present status is known
      call.executionId = value.execution_id;
      this.calls.set(value.execution_id, call);
      if (call.status !== "waiting") call.status = { queued: "pending", waiting: "waiting" }[value.status] ?? "executing";
      return;
    }
    call.status = failed ? ended(value?.category === "cancelled" ? "cancelled" : "failed", value) : "succeeded";
    if (failed) call.error = typeof value === "object" && value ? value : { category: "", message: String(value) };
    else call.value = value;
  }

  #call(data) {
    const call = this.#add({
      type: "call",
      tool: data.tool,
      executionId: data.execution_id ?? null,
      arguments: data.arguments ?? {},
      status: data.status ?? "pending",
      partials: [],
      errors: [],
      past: [],
      recent: [],
    });
    if (data.execution_id) this.calls.set(data.execution_id, call);
    if (data.call_id) this.calls.set(data.call_id, call);
    return call;
  }

  // Events

  /** Apply an event. Returns a text for screen readers, or null. */
  take(kind, event) {
    const data = event.data ?? {};
    if (kind === "tool_started" && !isLate(data)) this.#start(data);
    const call = CALL_EVENT.test(kind) ? this.#callOf({ kind, data }) : null;
    if (call) {
      call.recent.push({ kind, at: event.at, data });
      this.#updateHistory(call);
    }
    switch (kind) {
      case "user_input":
        this.#add({ type: "user", text: data.text });
        return null;
      case "turn_started":
        this.processing = true;
        return null;
      case "text":
        return this.#text(data);
      case "turn_finished":
      case "turn_paused":
        this.#endTurn();
        return null;
      case "turn_interrupted":
        this.#endTurn();
        this.#add({ type: "notice", level: "plain", text: "Stopped." });
        return "Stopped.";
      case "turn_failed": {
        this.#endTurn();
        const reason = data.error?.message ?? data.error ?? "The turn failed.";
        this.#add({ type: "notice", level: "error", text: String(reason) });
        return null;
      }
      case "human_request":
        return this.#addRequest(data, data.payload);
      case "wallet_tx_request": {
        const { to, value, data: input, gas_limit, description } = data;
        return this.#addRequest(data, { to, value, data: input, gas_limit, description });
      }
      case "human_answer":
      case "wallet_tx_response":
        this.close(data.request_id);
        return null;
      case "system_notice":
      case "system_error":
        this.#add({ type: "notice", level: kind === "system_error" ? "error" : "plain", text: String(data.message) });
        return null;
      default:
        return call ? this.#tool(call, kind, data) : null;
    }
  }

  #start(data) {
    const known = this.calls.get(data.execution_id) ?? this.calls.get(data.call_id) ?? this.#call({ ...data, status: "pending" });
    known.executionId = data.execution_id;
    this.calls.set(data.execution_id, known);
  }

  #tool(call, kind, data) {
    if (kind === "tool_executing") call.status = "executing";
    else if (kind === "tool_retrying") Object.assign(call, { status: "retrying", attempt: data.attempt, maximum: data.maximum });
    else if (kind === "tool_result") {
      Object.assign(call, { status: ended(data.status, data.error), value: data.value, error: data.error ?? null });
      if (call.request) this.close(call.request.id);
      if (call.status === "failed") return `${call.tool} failed.`;
    }
    return null;
  }

  #text({ delta, text, turn_id: turn }) {
    if (delta !== undefined && text === undefined) {
      if (!this.live || this.live.turn !== turn) this.live = this.#add({ type: "model", text: "", turn, live: true });
      this.live.text += delta;
      return null;
    }
    const item = this.live?.turn === turn ? this.live : this.#add({ type: "model", turn });
    Object.assign(item, { text, live: false });
    this.live = null;
    return text;
  }

  #endTurn() {
    this.processing = false;
    if (this.live) this.live.live = false;
    this.live = null;
  }

  #addRequest(data, payload) {
    const call = this.calls.get(data.execution_id) ?? this.#call(data);
    call.status = "waiting";
    call.request = { id: data.request_id, purpose: data.purpose, payload, schema: data.answer_schema ?? {}, hash: data.arguments_hash, expiresAt: data.expires_at };
    this.owners.set(data.request_id, call);
    this.requests.set(data.request_id, call);
    return `${call.tool} is waiting for your answer.`;
  }

  /** Remove a request that was closed, here or elsewhere. */
  close(requestId) {
    const call = this.requests.get(requestId);
    this.requests.delete(requestId);
    if (call) {
      call.request = null;
      if (call.status === "waiting") call.status = "pending";
    }
  }
}

/** The final status of a call for people. */
function ended(status, error) {
  const decision = error?.details?.decision;
  return status === "failed" && DECIDED.has(decision) ? decision : status;
}

const isLive = (item) => LIVE.has(item.status);

function isLate(call) {
  return call.tool === "task_result" && String(call.call_id).startsWith("late_");
}

/** Parse a result, which is text or JSON. Older conversations have quoted texts. */
export function parsed(content) {
  if (typeof content !== "string" || !/^\s*[[{"]/.test(content)) return content;
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}
