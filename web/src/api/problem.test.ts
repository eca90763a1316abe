import assert from "node:assert/strict";
import { test } from "node:test";
import { explain, Problem } from "./problem.ts";

test("a problem document is read", async () => {
  const document = {
    code: "invalid",
    title: "Not valid",
    detail: "One field is wrong.",
    errors: [{ path: "a", message: "is missing" }],
  };
  const problem = await Problem.of(Response.json(document, { status: 422 }));
  assert.deepEqual([problem.status, problem.code, problem.message], [422, "invalid", "One field is wrong."]);
  assert.equal(explain(problem), "a: is missing");
});

test("a response that is not JSON has a sentence", async () => {
  const problem = await Problem.of(new Response("<html>", { status: 502 }));
  assert.equal(explain(problem), "The server responded with 502.");
  assert.equal(problem.code, "");
});

test("other errors are explained by their messages", () => {
  assert.equal(explain(new TypeError("Failed to fetch")), "Failed to fetch");
  assert.equal(explain("text"), "text");
});
