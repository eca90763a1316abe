import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { ReactiveControllerHost } from "lit";
import type { ApiClient } from "../api/api-client.ts";
import { Problem } from "../api/problem.ts";
import { useMemoryStorage } from "../testing/memory-storage.ts";
import { SessionController } from "./session-controller.ts";

/** A server that records its requests, and whose stream is written by the test. */
class FakeApi {
  readonly requests: string[] = [];
  readonly bodies: { path: string; body: Record<string, unknown>; key: string | undefined }[] = [];
  readonly token = { get: () => "" };
  problem: Problem | null = null;
  answerProblem: Error | null = null;
  retryProblem: Problem | null = null;
  /** A request that its state has only a part of. */
  whole: unknown;
  /** The number of requests for past events and executions that get no response. */
  failing = 0;
  #writer: ReadableStreamDefaultController<Uint8Array> | undefined;

  async get(path: string): Promise<unknown> {
    this.requests.push(`GET ${path}`);
    if (this.problem !== null) throw this.problem;
    if (path.startsWith("/api/requests/")) return this.whole;
    if (path === "/api/tools") return { tools: [{ name: "add" }] };
    if (this.failing-- > 0) throw new TypeError("Failed to fetch");
    const started = { seq: 1, kind: "tool_started", at: "2026-01-01T00:00:00Z", data: { call_id: "c1", tool: "add" } };
    return {
      events: [started],
      next: null,
      executions: [{ execution_id: "x1", call_id: "c1", tool: "add", status: "succeeded", value: 3 }],
    };
  }

  async post(path: string, body: Record<string, unknown>, options: { key?: string } = {}): Promise<unknown> {
    this.requests.push(`POST ${path}`);
    this.bodies.push({ path, body, key: options.key });
    if (path.endsWith("/answer") && this.answerProblem !== null) throw this.answerProblem;
    if (path.endsWith("/retry") && this.retryProblem !== null) throw this.retryProblem;
    return { seq: 1 };
  }

  async open(_path: string, _query: unknown, signal: AbortSignal): Promise<Response> {
    this.requests.push("STREAM");
    if (this.problem !== null) throw this.problem;
    const body = new ReadableStream<Uint8Array>({ start: (writer) => void (this.#writer = writer) });
    signal.addEventListener("abort", () => this.#writer?.error(new Error("aborted")));
    return new Response(body);
  }

  /** End the stream as a lost connection does. */
  cut(): void {
    this.#writer?.error(new TypeError("network error"));
  }

  send(event: string, data: unknown, id?: number): void {
    const text = `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    this.#writer?.enqueue(new TextEncoder().encode(text));
  }
}

const opened: SessionController[] = [];

function controllerOf(api = new FakeApi()) {
  const seen = { sessions: [] as [string, boolean][], denied: 0 };
  const host = { addController: () => undefined, requestUpdate: () => undefined } as unknown as ReactiveControllerHost;
  const controller = new SessionController(host, {
    onSession: (id, exists) => seen.sessions.push([id, exists]),
    onDenied: () => seen.denied++,
    onAnnouncement: () => undefined,
  });
  controller.api = api as unknown as ApiClient;
  opened.push(controller);
  return { api, controller, seen };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

beforeEach(() => {
  useMemoryStorage();
  globalThis.requestAnimationFrame = (action) => setImmediate(action, 0) as unknown as number;
  globalThis.cancelAnimationFrame = () => undefined;
});
afterEach(() => {
  for (const controller of opened.splice(0)) controller.hostDisconnected();
});

test("a conversation is created with its first message, and not before", async () => {
  const { api, controller, seen } = controllerOf();
  controller.open(null);
  await until(() => controller.isReady);
  assert.deepEqual(api.requests, ["GET /api/tools"]);
  controller.send("hello");
  await until(() => api.requests.includes("POST /api/chat"));
  assert.deepEqual(
    api.requests.slice(1, 3),
    ["POST /api/sessions", "STREAM"],
    "the board is read before the message is sent",
  );
  assert.deepEqual(
    seen.sessions.map(([, exists]) => exists),
    [false, true],
  );
  assert.equal(seen.sessions[0]?.[0], seen.sessions[1]?.[0]);
});

test("events are applied in batches after a snapshot", async () => {
  const { api, controller } = controllerOf();
  controller.open("s1");
  await until(() => controller.connection.state === "connected");
  api.send("snapshot", { messages: [{ role: "user", text: "hi" }], last_seq: 1 }, 1);
  api.send("text", { kind: "text", at: "", data: { turn_id: "t", delta: "He" } });
  api.send("text", { kind: "text", at: "", data: { turn_id: "t", delta: "llo" } });
  await until(() => controller.conversation.items.length === 2);
  assert.deepEqual(
    controller.conversation.items.map((item) => item.type === "message" && item.text),
    ["hi", "Hello"],
  );
});

test("an answer names the arguments that were seen, and a repeated one has the same key", async () => {
  const { api, controller } = controllerOf();
  controller.open("s1");
  const request = { id: "r1", purpose: "approval", payload: {}, schema: {}, argumentsHash: "hash", expiresAt: null };
  api.answerProblem = new Problem(503, "store_unconfirmed", "Perhaps.");
  await controller.answer(request, { approved: true });
  assert.deepEqual(controller.answers.get("r1"), { isBusy: false, problem: "Perhaps." });
  api.answerProblem = null;
  await controller.answer(request, { approved: true });
  const [one, two] = api.bodies;
  assert.deepEqual(one?.body, { session_id: "s1", answer: { approved: true }, arguments_hash: "hash" });
  assert.ok(one?.key);
  assert.equal(two?.key, one?.key);
});

test("a request that was decided elsewhere is closed, and the person is told", async () => {
  const { api, controller } = controllerOf();
  controller.open("s1");
  await until(() => controller.connection.state === "connected");
  const open = { request_id: "r1", execution_id: "x1", tool: "pay", purpose: "approval", payload: {} };
  api.send("snapshot", { open_requests: [open] }, 1);
  await until(() => controller.conversation.requests.size === 1);
  const [call] = [...controller.conversation.calls.values()];
  api.answerProblem = new Problem(409, "request_closed", "It is closed.");
  assert.ok(call?.request);
  await controller.answer(call.request, { approved: true });
  assert.equal(controller.conversation.requests.size, 0);
  assert.match(controller.error, /already answered/);
});

test("a long request of a snapshot can be answered when the whole of it is loaded", async () => {
  const { api, controller } = controllerOf();
  controller.open("s1");
  await until(() => controller.connection.state === "connected");
  const open = { request_id: "r1", execution_id: "x1", tool: "pay", purpose: "approval" };
  const payload = { to: "a".repeat(20_000) };
  let respond = (_: unknown) => {};
  api.whole = new Promise((resolve) => (respond = resolve));
  const cut = { payload: { excerpt: "{" } };
  api.send("snapshot", { open_requests: [{ ...open, payload: null, arguments_hash: null, cut }] }, 1);
  const call = () => [...controller.conversation.calls.values()][0];
  await until(() => api.requests.includes("GET /api/requests/r1"));
  assert.equal(call()?.request?.isCut, true);
  respond({ ...open, payload, arguments_hash: "hash", cut: null });
  await until(() => call()?.request?.isCut === false);
  assert.deepEqual([call()?.request?.payload, call()?.request?.argumentsHash], [payload, "hash"]);
  assert.deepEqual(call()?.arguments, payload, "the card shows what is approved");
});

test("the person is told what was decided before their answer, by whom and when", async () => {
  const { api, controller } = controllerOf();
  controller.open("s1");
  await until(() => controller.connection.state === "connected");
  const open = { request_id: "r1", execution_id: "x1", tool: "pay", purpose: "approval", payload: {} };
  api.send("snapshot", { open_requests: [open] }, 1);
  await until(() => controller.conversation.requests.size === 1);
  const [call] = [...controller.conversation.calls.values()];
  assert.ok(call?.request);
  const at = new Date().toISOString();
  const decision = { outcome: "approved", answer: { approved: true }, answered_by: "alice", at } as const;
  api.answerProblem = new Problem(409, "request_closed", "It is closed.", [], decision);
  await controller.answer(call.request, { approved: false });
  const said = controller.answers.get("r1")?.notUsed ?? "";
  assert.match(said, /already approved by alice, elsewhere at \d/);
  assert.equal(controller.error, "", "the card says it");
  assert.equal([...controller.conversation.calls.values()][0]?.history.answered[0]?.by, "alice");
});

test("a failed turn is retried, and only a server that cannot gets the message again", async () => {
  const { api, controller } = controllerOf();
  controller.open("s1");
  await until(() => controller.connection.state === "connected");
  api.send("snapshot", { messages: [{ role: "user", text: "hi" }] }, 1);
  await until(() => controller.conversation.items.length === 1);
  await controller.retryTurn();
  assert.deepEqual(
    api.bodies.map(({ path, body }) => [path, body]),
    [["/api/chat/retry", { session_id: "s1" }]],
  );
  assert.equal(controller.outbox.items.length, 0);
  api.retryProblem = new Problem(409, "nothing_to_retry", "Nothing.");
  await controller.retryTurn();
  assert.deepEqual(
    controller.outbox.items.map(({ text }) => text),
    ["hi"],
  );
});

test("a missing token is asked for", async () => {
  const api = new FakeApi();
  api.problem = new Problem(401, "unauthenticated", "Who are you?");
  const { controller, seen } = controllerOf(api);
  controller.open(null);
  await until(() => seen.denied === 1);
  assert.equal(controller.connection.state, "lost");
});

test("messages to a conversation that is gone move to a new one", async () => {
  const api = new FakeApi();
  api.problem = new Problem(404, "session_not_found", "Not found.");
  const { controller, seen } = controllerOf(api);
  controller.open("gone");
  await until(() => seen.sessions.length > 1);
  assert.equal(seen.sessions.at(-1)?.[1], false);
  assert.notEqual(controller.sessionId, "gone");
});

test("cards are completed although the requests for their results and histories fail at first", async () => {
  const { api, controller } = controllerOf();
  controller.open("s1");
  await until(() => controller.connection.state === "connected");
  api.failing = 2;
  const messages = [{ role: "assistant", calls: [{ call_id: "c1", tool: "add", arguments: {} }] }];
  api.send("snapshot", { messages, last_seq: 9 }, 9);
  const call = () => [...controller.conversation.calls.values()][0];
  await until(() => call()?.status === "succeeded" && call()?.history.startedAt !== null);
  assert.equal(call()?.value, 3);
});

test("an answer without a response is sent again under the same key", async () => {
  const { api, controller } = controllerOf();
  controller.open("s1");
  const request = { id: "r1", purpose: "approval", payload: {}, schema: {}, argumentsHash: "hash", expiresAt: null };
  api.answerProblem = new TypeError("Failed to fetch");
  const sent = controller.answer(request, { approved: true });
  await until(() => controller.answers.get("r1")?.problem !== "");
  assert.equal(controller.answers.get("r1")?.isBusy, true);
  api.answerProblem = null;
  await sent;
  const [one, two] = api.bodies;
  assert.ok(one?.key);
  assert.deepEqual([two?.key, two?.body], [one?.key, one?.body]);
  assert.deepEqual(controller.answers.get("r1"), { isBusy: false, problem: "" });
});

test("pieces of a message that were missed never make a wrong text", async () => {
  const { api, controller } = controllerOf();
  controller.open("s1");
  await until(() => controller.connection.state === "connected");
  const send = (data: Record<string, unknown>, id?: number) => api.send("text", { kind: "text", at: "", data }, id);
  const shown = () => controller.conversation.items.map((item) => item.type === "message" && item.text);
  api.send("snapshot", { last_seq: 1 }, 1);
  send({ turn_id: "t", delta: "One " });
  await until(() => shown().length === 1);
  api.cut();
  await until(() => controller.connection.state === "waiting");
  controller.reconnect();
  await until(() => controller.connection.state === "connected");
  send({ turn_id: "t", delta: "three" });
  api.send("system_notice", { kind: "system_notice", at: "", data: { message: "a later event" } }, 2);
  await until(() => shown().length === 2);
  assert.equal(shown()[0], "One ");
  send({ turn_id: "t", text: "One two three" }, 3);
  await until(() => shown()[0] === "One two three");
});
