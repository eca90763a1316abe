import assert from "node:assert/strict";
import { test } from "node:test";
import { type Exchange, exchange, MAX_BYTES, MAX_FRAMES, MAX_TEXT } from "./api-exchange.ts";

const REQUEST = { method: "POST", path: "/x", headers: { a: "b" }, body: "{}" };

async function run(answer: Response | (() => Promise<Response>), signal = new AbortController().signal) {
  const reports: Exchange[] = [];
  const sent: RequestInit[] = [];
  const send = async (_: string, init: RequestInit) => {
    sent.push(init);
    return typeof answer === "function" ? answer() : answer;
  };
  const found = await exchange(REQUEST, "http://h/x", "token", signal, (each) => reports.push(each), { send });
  return { found, reports, sent };
}

test("a JSON response is read and measured, and the token is sent", async () => {
  const headers = { "content-type": "application/problem+json", "x-secret": "no", "retry-after": "5" };
  const { found, reports, sent } = await run(new Response('{"code":"x"}', { status: 404, headers }));
  assert.deepEqual(found.value, { code: "x" });
  assert.deepEqual([found.state, found.status, found.bytes, found.isCut], ["done", 404, 12, false]);
  assert.deepEqual(found.headers, [
    ["content-type", headers["content-type"]],
    ["retry-after", "5"],
  ]);
  assert.deepEqual(
    reports.map(({ state }) => state),
    ["sending", "reading", "reading", "done"],
  );
  assert.equal((sent[0]?.headers as Record<string, string>)["authorization"], "Bearer token");
  assert.equal(sent[0]?.redirect, "error");
});

test("a response that is too large is not loaded whole", async () => {
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled += 500_000;
      controller.enqueue(new Uint8Array(500_000).fill(97));
    },
  });
  const { found } = await run(new Response(body, { headers: { "content-type": "application/json" } }));
  assert.ok(found.isCut);
  assert.equal(found.value, undefined);
  assert.equal(found.text.length, MAX_TEXT);
  assert.ok(pulled < 2 * MAX_BYTES);
});

test("frames of a stream are counted, the newest kept, and a stop ends it", async () => {
  const abort = new AbortController();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 1; at <= MAX_FRAMES + 50; at++) controller.enqueue(encoder.encode(`id: ${at}\ndata: {}\n\n`));
      abort.signal.addEventListener("abort", () => controller.error(new DOMException("stopped", "AbortError")));
    },
  });
  const reports: Exchange[] = [];
  const running = exchange(
    REQUEST,
    "http://h/x",
    "",
    abort.signal,
    (each) => {
      reports.push(each);
      if (each.frameCount === MAX_FRAMES + 50) abort.abort();
    },
    { send: async () => new Response(body, { headers: { "content-type": "text/event-stream; charset=utf-8" } }) },
  );
  const found = await running;
  assert.equal(found.state, "stopped");
  assert.equal(found.frames?.length, MAX_FRAMES);
  assert.equal(found.frames?.at(-1)?.id, String(MAX_FRAMES + 50));
});

test("a request without a response has a reason", async () => {
  const { found } = await run(async () => {
    throw new TypeError("Failed to fetch");
  });
  assert.deepEqual([found.state, found.error], ["failed", "Failed to fetch"]);
});

test("text that only claims to be JSON is shown as text", async () => {
  const { found } = await run(new Response("<p>", { headers: { "content-type": "application/json" } }));
  assert.deepEqual([found.value, found.text], [undefined, "<p>"]);
});
