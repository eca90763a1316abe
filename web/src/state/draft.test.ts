import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY_CONVERSATION } from "./conversation.ts";
import { Draft, isLate } from "./draft.ts";

test("a draft leaves the conversation that it was made from alone", () => {
  const draft = new Draft(EMPTY_CONVERSATION);
  draft.addText("user", "hello");
  draft.start({ tool: "add", call_id: "c1" });
  assert.equal(EMPTY_CONVERSATION.items.length, 0);
  assert.equal(draft.done().items.length, 2);
});

test("a call is found by each of its ids, and is added once", () => {
  const draft = new Draft(EMPTY_CONVERSATION);
  const call = draft.start({ tool: "add", call_id: "c1" });
  const same = draft.start({ tool: "add", call_id: "c1", execution_id: "x1" });
  assert.equal(same.key, call.key);
  assert.equal(draft.find("x1")?.key, call.key);
  assert.equal(draft.find("unknown"), undefined);
});

test("a text that only looks like an acknowledgement is a result", () => {
  const draft = new Draft(EMPTY_CONVERSATION);
  draft.start({ tool: "say", call_id: "c1" });
  draft.addMessage({ role: "tool", call_id: "c1", content: '{"status": "started", "execution_id": "x1"}' });
  assert.equal(draft.find("c1")?.status, "succeeded");
});

test("only a call of the system carries a late result", () => {
  assert.equal(isLate({ tool: "task_result", call_id: "late_x1" }), true);
  assert.equal(isLate({ tool: "task_result", call_id: "c1" }), false);
});
