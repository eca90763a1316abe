import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY_CONVERSATION } from "./conversation.ts";
import { reduce } from "./reducer.ts";
import { argumentsOf, callsOf, MAX_RUNS, type Run, shownRuns } from "./tool-runs.ts";

const run = (callId: string, more: Partial<Run> = {}): Run => ({
  callId,
  tool: "add",
  arguments: { a: 1 },
  state: "sending",
  problem: "",
  outcome: null,
  ...more,
});
const execution = (id: string, more: object = {}) => ({
  execution_id: id,
  call_id: `c-${id}`,
  tool: "add",
  status: "succeeded",
  arguments: { a: 2 },
  value: 3,
  ...more,
});
const started = (id: string, callId: string) => ({
  seq: 1,
  kind: "tool_started",
  at: "2026-01-01T00:00:00Z",
  data: { execution_id: id, call_id: callId, tool: "add", arguments: { a: "***" } },
});

test("a run is shown at once, and as the board says as soon as it is there", () => {
  const runs = [run("c1")];
  const [sending] = shownRuns("add", runs, EMPTY_CONVERSATION, EMPTY_CONVERSATION);
  assert.deepEqual([sending?.key, sending?.call.status, sending?.call.arguments], ["c1", "pending", { a: 1 }]);
  const { conversation } = reduce(EMPTY_CONVERSATION, [started("x1", "c1")]);
  const shown = shownRuns("add", runs, conversation, EMPTY_CONVERSATION);
  assert.equal(shown.length, 1);
  assert.deepEqual([shown[0]?.key, shown[0]?.call.executionId], ["c1", "x1"]);
  assert.deepEqual(shown[0] && argumentsOf(shown[0]), { a: 1 }, "as they were sent, not as they are masked");
});

test("a run whose outcome came before the board is shown with its outcome", () => {
  const outcome = { status: "failed", execution_id: "x1", call_id: "c1", tool: "add", error: { message: "No." } };
  const [shown] = shownRuns("add", [run("c1", { state: "sent", outcome })], EMPTY_CONVERSATION, EMPTY_CONVERSATION);
  assert.deepEqual([shown?.call.status, shown?.call.error?.message], ["failed", "No."]);
  const going = { ...outcome, status: "waiting", error: null };
  const [waits] = shownRuns("add", [run("c1", { outcome: going })], EMPTY_CONVERSATION, EMPTY_CONVERSATION);
  assert.equal(waits?.call.status, "pending", "a waiting call needs its request, which the board has");
});

test("earlier runs follow, newest first, without those on the board and those of other tools", () => {
  const earlier = callsOf([execution("x1"), execution("x2"), execution("x3", { tool: "other" })]);
  const { conversation } = reduce(EMPTY_CONVERSATION, [started("x2", "c-x2")]);
  const shown = shownRuns("add", [run("c9")], conversation, earlier);
  assert.deepEqual(
    shown.map(({ key }) => key),
    ["c9", "x2", "x1"],
  );
  assert.deepEqual([shown[2]?.call.value, shown[2]?.sent], [3, undefined]);
});

test("a listed execution keeps its decision, its errors and its attempts", () => {
  const failed = { status: "failed", value: null, error: { message: "No.", details: { decision: "rejected" } } };
  const [shown] = shownRuns("add", [], EMPTY_CONVERSATION, callsOf([execution("x1", { ...failed, attempt: 0 })]));
  assert.deepEqual([shown?.call.status, shown?.call.attempt, shown?.call.value], ["rejected", 1, undefined]);
});

test("the number of runs is bounded", () => {
  const earlier = callsOf([...Array(50).keys()].map((number) => execution(`x${number}`)));
  assert.equal(shownRuns("add", [], EMPTY_CONVERSATION, earlier).length, MAX_RUNS);
});
