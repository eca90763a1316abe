import assert from "node:assert/strict";
import { test } from "node:test";
import type { BoardEvent, Snapshot, TranscriptMessage } from "../api/wire.ts";
import { type Conversation, EMPTY_CONVERSATION, lacksHistory, waitingCalls } from "./conversation.ts";
import { decisionOf } from "./history.ts";
import { addHistory, addTurnEnd, begin, closeRequest, prepend, reduce, settle } from "./reducer.ts";

const AT = "2026-01-01T00:00:00Z";
const TOOL = { execution_id: "x1", call_id: "c1", tool: "build" };
const event = (kind: string, data: Record<string, unknown>, at = AT): BoardEvent => ({ kind, at, data });

/** What a reader sees: roles and texts, tools and statuses. */
function shown({ items, calls }: Conversation): unknown[] {
  return items.map((item) => {
    if (item.type === "message") return [item.role, item.text];
    if (item.type === "notice") return [item.level, item.text];
    const call = calls.get(item.key);
    return [call?.tool, call?.status, call?.value];
  });
}

function apply(before: Conversation, ...events: BoardEvent[]): Conversation {
  return reduce(before, events).conversation;
}

const EVENTS: BoardEvent[] = [
  event("user_input", { text: "build it" }),
  event("turn_started", { turn_id: "t1" }),
  event("tool_started", { ...TOOL, arguments: { what: "a" } }),
  event("tool_executing", { ...TOOL, attempt: 1, maximum: 1 }),
  event("text", { turn_id: "t1", delta: "It " }),
  event("text", { turn_id: "t1", delta: "ru" }),
  event("text", { turn_id: "t1", text: "It runs." }),
  event("turn_finished", { turn_id: "t1" }),
  event("tool_progress", { ...TOOL, stage: "on", fraction: 0.5, message: null }),
  event("tool_result", { ...TOOL, mode: "background", status: "succeeded", value: { done: true } }),
  event("turn_started", { turn_id: "t2" }),
  event("text", { turn_id: "t2", text: "It is done." }),
  event("turn_finished", { turn_id: "t2" }),
];

const MESSAGES: TranscriptMessage[] = [
  { role: "user", text: "build it" },
  { role: "assistant", text: "", calls: [{ call_id: "c1", tool: "build", arguments: { what: "a" } }] },
  { role: "tool", call_id: "c1", content: { status: "started", execution_id: "x1", tool: "build" }, failed: false },
  {
    role: "assistant",
    text: "It runs.",
    calls: [{ call_id: "late_x1", tool: "task_result", arguments: { execution_id: "x1" } }],
  },
  { role: "tool", call_id: "late_x1", content: '{"done": true}', failed: false },
  { role: "assistant", text: "It is done.", calls: [] },
];

test("a snapshot and events produce the same timeline, in any batches", () => {
  const expected = [
    ["user", "build it"],
    ["build", "succeeded", { done: true }],
    ["model", "It runs."],
    ["model", "It is done."],
  ];
  const snapshot = begin({ messages: MESSAGES });
  assert.deepEqual(shown(snapshot), expected);
  for (const size of [1, 2, 5, EVENTS.length]) {
    let state = begin({});
    for (let at = 0; at < EVENTS.length; at += size) state = apply(state, ...EVENTS.slice(at, at + size));
    assert.deepEqual(shown(state), expected, `batches of ${size}`);
    assert.equal(state.isProcessing, false);
    const reports = (each: Conversation) => each.items.map((item) => (item.type === "message" ? item.reports : []));
    assert.deepEqual(reports(state), reports(snapshot), "a late result is linked to its call");
    assert.deepEqual(reports(state).at(-1), ["x1"]);
  }
});

test("a state is never changed, and unchanged calls are the same objects", () => {
  const before = apply(
    begin({}),
    event("tool_started", TOOL),
    event("tool_started", { ...TOOL, execution_id: "x2", call_id: "c2" }),
  );
  const [one, two] = [...before.calls.values()];
  const after = apply(before, event("tool_progress", { ...TOOL, stage: "on", fraction: 0.5 }));
  assert.deepEqual([...before.calls.values()], [one, two]);
  assert.notEqual(after.calls.get(one?.key ?? ""), one);
  assert.equal(after.calls.get(two?.key ?? ""), two);
  assert.equal(after.items[0], before.items[0]);
  assert.equal(one?.history.progress, null);
});

test("text is live while it is streamed", () => {
  const live = apply(begin({}), event("text", { turn_id: "t", delta: "One" }));
  assert.deepEqual(
    live.items.map((item) => item.type === "message" && item.isLive),
    [true],
  );
  const stopped = apply(live, event("turn_interrupted", { turn_id: "t" }));
  assert.deepEqual(shown(stopped), [
    ["model", "One"],
    ["plain", "Stopped."],
  ]);
  assert.equal(stopped.items[0]?.type === "message" && stopped.items[0].isLive, false);
});

test("a failed turn leaves a notice that can be retried", () => {
  const state = apply(begin({}), event("turn_failed", { error: { message: "The model is away." } }));
  assert.deepEqual(
    state.items.map((item) => item.type === "notice" && [item.text, item.canRetry]),
    [["The model is away.", true]],
  );
});

test("a request opens, and closes with its answer or with the end of its call", () => {
  const asked = event("human_request", {
    ...TOOL,
    request_id: "r1",
    purpose: "approval",
    payload: { amount: 5 },
    arguments_hash: "h",
  });
  const open = apply(begin({}), event("tool_started", TOOL), asked);
  assert.deepEqual(
    waitingCalls(open).map(({ status, request }) => [status, request?.payload]),
    [["waiting", { amount: 5 }]],
  );
  const answered = apply(open, event("human_answer", { request_id: "r1", answer: { approved: true } }));
  assert.equal(answered.requests.size, 0);
  assert.deepEqual(
    [...answered.calls.values()].map(({ status, request }) => [status, request]),
    [["pending", null]],
  );
  assert.equal(apply(open, event("tool_result", { ...TOOL, status: "cancelled" })).requests.size, 0);
  assert.equal(closeRequest(open, "r1").requests.size, 0);
  assert.equal(reduce(begin({}), [asked]).announcement, "build is waiting for your answer.");
});

test("a rejection is a decision and not a failure", () => {
  const error = { category: "execution", message: "No.", details: { decision: "rejected" } };
  const state = apply(
    begin({}),
    event("tool_started", TOOL),
    event("tool_result", { ...TOOL, status: "failed", error }),
  );
  assert.deepEqual(
    [...state.calls.values()].map(({ status }) => status),
    ["rejected"],
  );
});

test("calls that ended before the snapshot are settled", () => {
  const snapshot: Snapshot = { messages: MESSAGES.slice(0, 2) };
  const state = begin(snapshot);
  assert.equal(state.uncertain.size, 1);
  const settled = settle(state, [{ ...TOOL, status: "succeeded", value: 1 }]);
  assert.deepEqual(shown(settled), [
    ["user", "build it"],
    ["build", "succeeded", 1],
  ]);
  assert.equal(settled.uncertain.size, 0);
});

test("earlier messages are put before the others", () => {
  const later = begin({ messages: MESSAGES.slice(5) });
  const all = prepend(later, MESSAGES.slice(0, 4));
  assert.deepEqual(
    shown(all).map((each) => (each as unknown[])[0]),
    ["user", "build", "model", "model"],
  );
  assert.equal(new Set(all.items.map(({ key }) => key)).size, 4);
  assert.equal(all.uncertain.size, 1);
});

test("pages of past events complete the history of a card", () => {
  const done = apply(EMPTY_CONVERSATION, ...EVENTS);
  const state = begin({ messages: MESSAGES });
  assert.equal(lacksHistory(state), true);
  const half = addHistory(state, EVENTS.slice(6));
  assert.equal(lacksHistory(half), true);
  const whole = addHistory(half, EVENTS.slice(0, 6));
  assert.equal(lacksHistory(whole), false);
  const history = (each: Conversation) => [...each.calls.values()][0]?.history;
  assert.deepEqual(history(whole), history(done));
});

test("a new snapshot has new keys", () => {
  const one = begin({ messages: MESSAGES });
  const two = begin({ messages: MESSAGES }, one);
  const keys = [...one.items, ...two.items].map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length);
});

test("unknown events are ignored", () => {
  assert.deepEqual(shown(apply(begin({}), event("of_the_future", { a: 1 }))), []);
});

test("the end of a failed turn is shown after a reload, until another turn begins", () => {
  const loaded = begin({ messages: [{ role: "user", text: "hi" }] });
  const failed = [
    event("user_input", { text: "hi" }),
    event("turn_started", {}),
    event("turn_failed", { error: "No." }),
  ];
  const state = addTurnEnd(loaded, failed);
  assert.deepEqual(shown(state), [
    ["user", "hi"],
    ["error", "No."],
  ]);
  const canRetry = ({ items }: Conversation) => items.map((item) => item.type === "notice" && item.canRetry);
  assert.deepEqual(canRetry(state), [false, true]);
  assert.deepEqual(canRetry(apply(state, event("turn_started", {}))), [false, false]);
  assert.equal(addTurnEnd(state, failed), state, "once");
  const answered = begin({
    messages: [
      { role: "user", text: "hi" },
      { role: "assistant", text: "Hello." },
    ],
  });
  assert.equal(addTurnEnd(answered, failed), answered);
  assert.equal(addTurnEnd(loaded, [...failed, event("user_input", { text: "hi" })]), loaded);
});

test("past events have the whole result, of which messages may have an excerpt", () => {
  const loaded = begin({
    messages: [
      { role: "assistant", calls: [{ call_id: "c1", tool: "build", arguments: {} }] },
      { role: "tool", call_id: "c1", content: "[1, 2, … (cut)" },
    ],
  });
  const state = addHistory(loaded, [
    event("tool_started", TOOL),
    event("tool_result", { ...TOOL, status: "succeeded", value: [1, 2, 3] }),
  ]);
  const [call] = [...state.calls.values()];
  assert.deepEqual([call?.value, call?.executionId, call?.callId], [[1, 2, 3], "x1", "c1"]);
});

test("a request that was decided elsewhere is closed with the decision", () => {
  const asked = event("human_request", { ...TOOL, request_id: "r1", purpose: "approval", payload: { amount: 5 } });
  const open = apply(begin({}), event("tool_started", TOOL), asked);
  const closed = closeRequest(open, "r1", { outcome: "rejected", answer: null, answered_by: "ada", at: AT });
  const [call] = [...closed.calls.values()];
  assert.deepEqual(call?.history.answered, [{ requestId: "r1", at: AT, value: { approved: false }, by: "ada" }]);
});

test("a request of a snapshot tells the purpose of its answer", () => {
  const request = { ...TOOL, request_id: "r1", purpose: "question" } as const;
  const open = begin({ executions: [{ ...TOOL, status: "waiting" }], open_requests: [request] });
  const closed = closeRequest(open, "r1", { outcome: "answered", answer: { approved: true }, at: AT });
  assert.deepEqual(
    [...closed.calls.values()].map(({ history }) => decisionOf(history)?.kind),
    ["answered"],
  );
});

test("the history of a call names its execution, so that it can be linked to", () => {
  const snapshot: Snapshot = {
    messages: [
      { role: "assistant", calls: [{ call_id: "c1", tool: "add", arguments: {} }] },
      { role: "tool", call_id: "c1", content: "2" },
    ],
  };
  const data = { execution_id: "x1", call_id: "c1", tool: "add" };
  const events = [{ kind: "tool_started", at: "2026-01-01T00:00:00Z", data }];
  const conversation = addHistory(begin(snapshot), events);
  const key = conversation.keys.get("x1");
  assert.equal(conversation.calls.get(key ?? "")?.executionId, "x1");
});
