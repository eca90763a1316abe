import assert from "node:assert/strict";
import { test } from "node:test";
import { newCall, type OpenRequest } from "./conversation.ts";
import { isInBrowser, needsPerson, type PageRun, withRun } from "./page-run.ts";

const REQUEST: OpenRequest = {
  id: "r1",
  purpose: "front_end_tool",
  payload: {},
  schema: {},
  argumentsHash: null,
  expiresAt: null,
};
const CALL = newCall("i1", { tool: "t", executionId: "x1", status: "waiting", request: REQUEST });
const RUN: PageRun = {
  requestId: "r1",
  tool: "t",
  state: "running",
  attempt: 2,
  maximum: 3,
  errors: [{ message: "e" }],
};

test("a card shows what the page does with the call", () => {
  const shown = withRun(CALL, RUN);
  assert.deepEqual([shown.status, shown.attempt, shown.maximum], ["executing", 2, 3]);
  assert.deepEqual(shown.previousErrors, [{ message: "e" }]);
  assert.equal(withRun(CALL, { ...RUN, state: "retrying" }).status, "retrying");
  assert.equal(withRun(CALL, { ...RUN, state: "asking" }).status, "waiting");
  assert.equal(withRun(CALL, { ...RUN, state: "missing" }), CALL);
  assert.equal(withRun(CALL, undefined), CALL);
});

test("a call that has ended keeps its status and its attempts", () => {
  const ended = withRun({ ...CALL, request: null, status: "failed" }, { ...RUN, state: "sent" });
  assert.deepEqual([ended.status, ended.attempt], ["failed", 2]);
});

test("only what a person has to decide counts as waiting", () => {
  assert.ok(isInBrowser(CALL));
  assert.ok(!needsPerson(CALL, undefined));
  assert.ok(!needsPerson(CALL, RUN));
  for (const state of ["asking", "copy", "notify", "missing"] as const) assert.ok(needsPerson(CALL, { ...RUN, state }));
  assert.ok(needsPerson({ ...CALL, request: { ...REQUEST, purpose: "approval" } }, undefined));
});
