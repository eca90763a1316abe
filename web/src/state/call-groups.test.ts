import assert from "node:assert/strict";
import { test } from "node:test";
import type { BoardEvent } from "../api/wire.ts";
import { blocksOf, countStatuses, staysVisible } from "./call-groups.ts";
import type { Conversation } from "./conversation.ts";
import { begin, reduce } from "./reducer.ts";

const event = (kind: string, data: Record<string, unknown> = {}): BoardEvent => ({
  kind,
  at: "2026-01-01T00:00:00Z",
  data,
});
const started = (id: string) => event("tool_started", { execution_id: `x${id}`, call_id: id, tool: "add" });
const ended = (id: string, status = "succeeded") =>
  event("tool_result", { execution_id: `x${id}`, call_id: id, tool: "add", status });
const after = (...events: BoardEvent[]): Conversation => reduce(begin({}), events).conversation;

/** The ids of grouped calls, and the types of all other items. */
const shown = (conversation: Conversation) =>
  blocksOf(conversation).map((each) => (each.type === "group" ? each.calls.map(({ callId }) => callId) : each.type));

test("calls in a row that have ended are a group, once nothing can be added to the row", () => {
  const two = [event("turn_started"), started("a"), started("b"), ended("a"), ended("b")];
  assert.deepEqual(shown(after(...two)), ["call", "call"]);
  assert.deepEqual(shown(after(...two, event("text", { text: "Done." }))), [["a", "b"], "message"]);
  assert.deepEqual(shown(after(...two, event("turn_finished"))), [["a", "b"]]);
});

test("a single call is not a group", () => {
  assert.deepEqual(shown(after(started("a"), ended("a"))), ["call"]);
  const apart = after(started("a"), ended("a"), event("text", { text: "So." }), started("b"), ended("b"));
  assert.deepEqual(shown(apart), ["call", "message", "call"]);
});

test("a call that runs or waits for a person is never in a group", () => {
  const row = [..."abcde"].map(started);
  const asked = event("human_request", { execution_id: "xc", call_id: "c", tool: "add", request_id: "r", payload: {} });
  const waiting = after(...row, ...["a", "b", "d", "e"].map((id) => ended(id)), asked);
  assert.deepEqual(shown(waiting), [["a", "b"], "call", ["d", "e"]]);
  assert.deepEqual(shown(reduce(waiting, [ended("c")]).conversation), [["a", "b", "c", "d", "e"]]);
});

test("the id of a group is the same from events and from messages", () => {
  const live = after(started("a"), started("b"), ended("a"), ended("b"));
  const calls = ["a", "b"].map((call_id) => ({ call_id, tool: "add", arguments: {} }));
  const results = ["a", "b"].map((call_id) => ({ role: "tool" as const, call_id, content: "1" }));
  const loaded = begin({ messages: [{ role: "assistant", calls }, ...results] });
  const ids = [live, loaded].map((each) => blocksOf(each).map((block) => block.type === "group" && block.id));
  assert.deepEqual(ids[0], ["group a"]);
  assert.deepEqual(ids[1], ids[0]);
});

test("failures and decisions stay visible, and statuses are counted", () => {
  const asked = { execution_id: "xc", call_id: "c", tool: "add", request_id: "r", payload: {} };
  const state = after(
    ...[..."abc"].map(started),
    event("human_request", asked),
    event("human_answer", { request_id: "r", answer: { approved: true } }),
    ended("a"),
    ended("b", "failed"),
    ended("c"),
  );
  const calls = [...state.calls.values()];
  assert.deepEqual(calls.map(staysVisible), [false, true, true]);
  assert.deepEqual(
    [...countStatuses(calls)],
    [
      ["succeeded", 2],
      ["failed", 1],
    ],
  );
});
