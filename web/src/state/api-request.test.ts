import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { addressOf, curlOf, requestOf } from "./api-request.ts";
import type { Operation } from "./openapi.ts";

const OPERATION: Operation = {
  id: "o",
  method: "POST",
  path: "/api/sessions/{session_id}/logout",
  summary: "",
  group: "Sessions",
  parameters: [
    { name: "session_id", place: "path", isRequired: true, description: "", schema: {} },
    { name: "limit", place: "query", isRequired: false, description: "", schema: {} },
    { name: "search", place: "query", isRequired: false, description: "", schema: {} },
    { name: "Idempotency-Key", place: "header", isRequired: false, description: "", schema: {} },
  ],
  body: { type: "object" },
  isBodyRequired: true,
  responses: [],
  isStream: false,
};
const ORIGIN = "http://127.0.0.1:8000";

test("values are put into the path, the query, the headers and the body", () => {
  const values = { session_id: "a/b?c", limit: 5, search: "", "Idempotency-Key": "k" };
  assert.deepEqual(requestOf(OPERATION, values, { grace: 1 }), {
    method: "POST",
    path: "/api/sessions/a%2Fb%3Fc/logout?limit=5",
    headers: { "idempotency-key": "k", "content-type": "application/json" },
    body: '{"grace":1}',
  });
  assert.equal(requestOf({ ...OPERATION, body: null }, {}, { grace: 1 }).body, null);
  assert.deepEqual(requestOf({ ...OPERATION, body: null }, null, undefined).headers, {});
});

test("only the server of the page gets a request", () => {
  const of = (path: string) => () => addressOf({ method: "GET", path, headers: {}, body: null }, ORIGIN, "refused");
  assert.equal(of("/api/state?a=1")(), `${ORIGIN}/api/state?a=1`);
  for (const path of [
    "//evil.example/x",
    "https://evil.example/",
    "/\\evil.example",
    "javascript:alert(1)",
    "api",
    "",
  ]) {
    assert.throws(of(path), /refused/, path);
  }
});

test("a token is in a command only if it is revealed", () => {
  const request = requestOf(OPERATION, { session_id: "s" }, {});
  assert.ok(!curlOf(request, ORIGIN, "cb_secret", false).includes("cb_secret"));
  assert.ok(curlOf(request, ORIGIN, "cb_secret", true).includes("Authorization: Bearer cb_secret"));
  assert.ok(!curlOf(request, ORIGIN, "", true).includes("Authorization"));
  assert.match(curlOf({ ...request, method: "GET" }, ORIGIN, "", false, true), /^curl -N \\\n/);
});

test("a shell reads a command as it is meant", () => {
  const hostile = `it's "$(touch /tmp/x)" \`id\` \\ ! \n next`;
  const command = curlOf(requestOf(OPERATION, { session_id: hostile }, { text: hostile }), ORIGIN, "t'k", true);
  const shown = execFileSync("sh", ["-c", command.replace(/^curl/, "printf '%s\\0'")])
    .toString()
    .split("\0");
  assert.equal(shown[2], `${ORIGIN}/api/sessions/${encodeURIComponent(hostile)}/logout`);
  assert.equal(shown.at(-2), JSON.stringify({ text: hostile }));
  assert.ok(shown.includes("Authorization: Bearer t'k"));
});
