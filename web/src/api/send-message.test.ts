import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Problem } from "./problem.ts";
import { sendMessage } from "./send-message.ts";

const MESSAGE = { session_id: "s", message: "hello", message_id: "m1" };

function apiOf(problem: Problem | null) {
  const bodies: object[] = [];
  const post = async <T>(_path: string, body: unknown) => {
    bodies.push(body as object);
    if (problem !== null && (body as { tools?: unknown[] }).tools?.length) throw problem;
    return { seq: 7 } as T;
  };
  return { bodies, post };
}

test("a message carries the tools of the page", async () => {
  const api = apiOf(null);
  assert.equal(await sendMessage(api, MESSAGE, [{ name: "a" }]), 7);
  assert.equal(await sendMessage(api, MESSAGE), 7);
  assert.deepEqual(api.bodies, [{ ...MESSAGE, tools: [{ name: "a" }] }, MESSAGE]);
});

test("a message whose tools are refused is sent without them", async () => {
  const warn = mock.method(console, "warn", () => undefined);
  const api = apiOf(new Problem(422, "registration", "a is taken"));
  assert.equal(await sendMessage(api, MESSAGE, [{ name: "a" }]), 7);
  assert.deepEqual(api.bodies[1], { ...MESSAGE, tools: [] });
  assert.match(String(warn.mock.calls[0]?.arguments[0]), /a is taken/);
  warn.mock.restore();
});

test("another problem is not hidden", async () => {
  const api = apiOf(new Problem(503, "store", "not now"));
  await assert.rejects(sendMessage(api, MESSAGE, [{ name: "a" }]), /not now/);
  assert.equal(api.bodies.length, 1);
});
