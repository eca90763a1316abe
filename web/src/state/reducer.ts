/**
 * The next state of a conversation, from a snapshot, events, or pages of earlier messages and events.
 *
 * Pure functions: no DOM, no network. Events are applied in batches, because a batch copies the state once.
 */
import { TURN_STOPS } from "../api/turn-kinds.ts";
import type {
  BoardEvent,
  DecisionInfo,
  ExecutionInfo,
  Failure,
  Fields,
  RequestInfo,
  Snapshot,
  TranscriptMessage,
} from "../api/wire.ts";
import { texts } from "../texts.ts";
import {
  type Call,
  type CallStatus,
  type Conversation,
  EMPTY_CONVERSATION,
  isLive,
  type Item,
  lacksResponse,
} from "./conversation.ts";
import { Draft, isLate } from "./draft.ts";
import { addDecision, addEvent, EMPTY_HISTORY, type History, join } from "./history.ts";
import { endStatus } from "./results.ts";

/** Events of a call's history. */
const CALL_EVENT = /^(tool_|human_|wallet_tx_)/;
/** Events by which a turn begins or ends. */
const TURN_EVENT = /^(turn_|user_input$)/;

/** The fields of every request's event. */
const REQUEST_FIELDS: ReadonlySet<string> = new Set([
  "request_id",
  "execution_id",
  "call_id",
  "tool",
  "purpose",
  "answer_schema",
  "expires_at",
  "arguments_hash",
]);

/** A state, and a text for screen readers. */
export interface Step {
  readonly conversation: Conversation;
  readonly announcement: string | null;
}

/** The state of a snapshot. Its keys are not those of the state before. */
export function begin(snapshot: Snapshot, before: Conversation = EMPTY_CONVERSATION): Conversation {
  const draft = new Draft({ ...EMPTY_CONVERSATION, count: before.count });
  for (const message of snapshot.messages ?? []) draft.addMessage(message);
  const executions = snapshot.executions ?? [];
  for (const execution of executions) draft.applyExecution(execution);
  for (const request of snapshot.open_requests ?? []) draft.addRequest(request, request.payload);
  draft.isProcessing = Boolean(snapshot.is_processing);
  const open = new Set<string | null>(executions.map((each) => each.execution_id));
  for (const [key, call] of draft.calls) if (isLive(call) && !open.has(call.executionId)) draft.uncertain.add(key);
  return draft.done();
}

/** Apply events in their order. */
export function reduce(conversation: Conversation, events: readonly BoardEvent[]): Step {
  const draft = new Draft(conversation);
  let announcement: string | null = null;
  for (const event of events) announcement = apply(draft, event) ?? announcement;
  return { conversation: draft.done(), announcement };
}

/** Add earlier messages before the others. */
export function prepend(conversation: Conversation, messages: readonly TranscriptMessage[]): Conversation {
  const draft = new Draft({ ...conversation, items: [], unreported: [] });
  const known = new Set(draft.calls.keys());
  for (const message of messages) draft.addMessage(message);
  // the results of earlier calls may be in later messages
  for (const [key, call] of draft.calls) if (!known.has(key) && isLive(call)) draft.uncertain.add(key);
  const earlier: Item[] = draft.items;
  draft.items = [...earlier, ...conversation.items];
  draft.unreported = [...conversation.unreported];
  return draft.done();
}

/** Set the results of calls that ended before the snapshot, from the list of executions. */
export function settle(conversation: Conversation, executions: readonly ExecutionInfo[]): Conversation {
  const draft = new Draft(conversation);
  for (const { execution_id: executionId, call_id: callId, status, value, error = null } of executions) {
    const call = draft.find(executionId, callId);
    if (call === undefined || !draft.uncertain.has(call.key) || !isLive(call)) continue;
    draft.name(call.key, executionId);
    draft.change(call.key, { executionId, status: endStatus(status as CallStatus, error), value, error });
  }
  draft.uncertain.clear();
  return draft.done();
}

/** Add a page of earlier events, oldest first, to the histories of the calls. */
export function addHistory(conversation: Conversation, events: readonly BoardEvent[]): Conversation {
  const draft = new Draft(conversation);
  const found = new Map<string, History>();
  const ends = new Map<string, Partial<Call>>();
  for (const event of events) {
    if (!CALL_EVENT.test(event.kind)) continue;
    const call = draft.callOf(event);
    if (call === undefined) continue;
    found.set(call.key, addEvent(found.get(call.key) ?? EMPTY_HISTORY, event));
    const { execution_id: executionId } = event.data;
    if (call.executionId === null && typeof executionId === "string") {
      draft.name(call.key, executionId);
      draft.change(call.key, { executionId });
    }
    // messages have results as the model reads them, which may be shortened
    if (event.kind === "tool_result") ends.set(call.key, endOf(event.data));
  }
  for (const [key, older] of found) {
    const call = draft.calls.get(key);
    if (call === undefined) continue;
    const history = join(older, call.history);
    const last = history.attempts.at(-1);
    const attempt = last === undefined ? {} : { attempt: last.number, maximum: last.maximum };
    draft.change(key, { history, ...attempt, ...ends.get(key) });
  }
  return draft.done();
}

/** Show how the newest turn ended, from the newest events, if the model has not responded. */
export function addTurnEnd(conversation: Conversation, events: readonly BoardEvent[]): Conversation {
  if (!lacksResponse(conversation)) return conversation;
  const last = events.findLast(({ kind }) => TURN_EVENT.test(kind));
  if (last?.kind !== "turn_failed" && last?.kind !== "turn_interrupted") return conversation;
  return reduce(conversation, [last]).conversation;
}

/** Set the whole of an open request, of which the snapshot has only a part. */
export function completeRequest(conversation: Conversation, request: RequestInfo): Conversation {
  const draft = new Draft(conversation);
  draft.completeRequest(request);
  return draft.done();
}

/** Remove a request that was closed here or elsewhere, with the decision that closed it, if it is known. */
export function closeRequest(
  conversation: Conversation,
  requestId: string,
  decision: DecisionInfo | null = null,
): Conversation {
  const draft = new Draft(conversation);
  const call = draft.calls.get(conversation.owners.get(requestId) ?? "");
  if (call !== undefined && decision !== null)
    draft.change(call.key, { history: addDecision(call.history, requestId, decision) });
  draft.closeRequest(requestId);
  return draft.done();
}

/**
 * Stop the message that is being streamed, because pieces of it may have been missed. Its whole text follows, or it is
 * removed at the end of the turn.
 */
export function interruptText(conversation: Conversation): Conversation {
  const { live } = conversation;
  return live === null ? conversation : { ...conversation, live: { ...live, isInterrupted: true } };
}

/** Apply one event. Returns a text for screen readers, or null. */
function apply(draft: Draft, event: BoardEvent): string | null {
  const { kind } = event;
  const data: Fields = event.data ?? {};
  if (kind === "tool_started") {
    if (isLate(data)) draft.reportLate(data["call_id"], data["arguments"]);
    else draft.start(data);
  }
  const call = CALL_EVENT.test(kind) ? draft.callOf({ kind, data }) : undefined;
  if (call !== undefined) {
    const history = addEvent(call.history, { kind, at: event.at, data });
    if (history !== call.history) draft.change(call.key, { history });
  }
  if (TURN_STOPS.has(kind)) draft.endTurn();
  switch (kind) {
    case "user_input":
      draft.addText("user", String(data["text"]));
      return null;
    case "turn_started":
      draft.isProcessing = true;
      draft.closeRetries();
      return null;
    case "text":
      return draft.takeText(data);
    case "turn_interrupted":
      draft.addNotice("plain", texts.stopped);
      return texts.stopped;
    case "turn_failed":
      draft.addNotice("error", reasonOf(data["error"]), true);
      return null;
    case "human_request":
    case "wallet_tx_request":
      return draft.addRequest(
        data as unknown as RequestInfo,
        kind === "human_request" ? data["payload"] : walletPayload(data),
      );
    case "human_answer":
    case "wallet_tx_response":
      draft.closeRequest(String(data["request_id"]));
      return null;
    case "system_notice":
      draft.addNotice("plain", String(data["message"]));
      return null;
    case "system_error":
      draft.addNotice("error", String(data["message"]));
      return null;
    default:
      return call === undefined ? null : applyToCall(draft, call.key, kind, data);
  }
}

function applyToCall(draft: Draft, key: string, kind: string, data: Fields): string | null {
  if (kind === "tool_executing" || kind === "tool_retrying") {
    const status = kind === "tool_executing" ? "executing" : "retrying";
    draft.change(key, { status, attempt: Number(data["attempt"]), maximum: Number(data["maximum"]) });
  } else if (kind === "tool_result") {
    const ended = draft.change(key, endOf(data));
    if (ended.request !== null) draft.closeRequest(ended.request.id);
    if (data["mode"] === "background") draft.reportLate(null, data);
    if (ended.status === "failed") return texts.callFailed(ended.tool);
  }
  return null;
}

/** The end of a call, from its terminal event. */
function endOf(data: Fields): Pick<Call, "status" | "value" | "error"> {
  const error = (data["error"] ?? null) as Failure | null;
  return { status: endStatus(data["status"] as CallStatus, error), value: data["value"], error };
}

/** The arguments of a wallet request, which its event has beside its own fields. */
function walletPayload(data: Fields): Fields {
  return Object.fromEntries(Object.entries(data).filter(([name]) => !REQUEST_FIELDS.has(name)));
}

function reasonOf(error: unknown): string {
  const message = typeof error === "object" && error !== null ? (error as Failure).message : error;
  return String(message ?? texts.turnFailed);
}
