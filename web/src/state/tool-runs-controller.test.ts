import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { ReactiveControllerHost } from "lit";
import type { ApiClient } from "../api/api-client.ts";
import { Problem } from "../api/problem.ts";
import { useMemoryStorage } from "../testing/memory-storage.ts";
import { ToolRunsController } from "./tool-runs-controller.ts";

const KEY = "callboard.tools-session";

/** A server that records its requests. Its streams stay silent. */
class FakeApi {
  readonly requests: string[] = [];
  readonly calls: Record<string, unknown>[] = [];
  readonly token = { get: () => "" };
  /** The problems of the next requests, by the start of their line. */
  readonly problems = new Map<string, Error>();
  executions: unknown[] = [];

  async get(path: string): Promise<unknown> {
    this.#request(`GET ${path}`);
    return { executions: this.executions, events: [], tools: [], next: null };
  }

  async post(path: string, body: Record<string, unknown>): Promise<unknown> {
    this.#request(`POST ${path}`);
    if (path !== "/api/executions") return {};
    this.calls.push(body);
    return { status: "succeeded", execution_id: "x1", call_id: body["call_id"], tool: body["tool"], value: 3 };
  }

  async patch(path: string): Promise<unknown> {
    this.#request(`PATCH ${path}`);
    return {};
  }

  async open(_path: string, _query: unknown, signal: AbortSignal): Promise<Response> {
    this.#request("STREAM");
    return new Response(
      new ReadableStream({
        start: (writer) => signal.addEventListener("abort", () => writer.error(new Error("ended"))),
      }),
    );
  }

  #request(line: string): void {
    this.requests.push(line);
    const found = [...this.problems].find(([start]) => line.startsWith(start));
    if (found === undefined) return;
    this.problems.delete(found[0]);
    throw found[1];
  }
}

const settled = () => new Promise((resolve) => setTimeout(resolve));
const made: ToolRunsController[] = [];
let stored: Map<string, string>;

function controllerOf(api = new FakeApi()) {
  const host = { addController: () => undefined, requestUpdate: () => undefined } as unknown as ReactiveControllerHost;
  const controller = new ToolRunsController(
    host,
    { onDenied: () => undefined, onAnnouncement: () => undefined },
    "By hand",
  );
  controller.session.api = api as unknown as ApiClient;
  made.push(controller);
  return { api, controller };
}

beforeEach(() => {
  stored = useMemoryStorage().local;
  globalThis.requestAnimationFrame ??= () => 0;
  globalThis.cancelAnimationFrame ??= () => undefined;
});
afterEach(() => {
  for (const controller of made.splice(0)) controller.session.hostDisconnected();
});

test("opening the page creates no session and sends nothing", () => {
  const { api, controller } = controllerOf();
  controller.hostConnected();
  assert.deepEqual([api.requests, stored.get(KEY), controller.sessionId], [[], undefined, null]);
});

test("the first runs create one session with a name, and read its board", async () => {
  const { api, controller } = controllerOf();
  controller.hostConnected();
  await Promise.all([controller.start("add", { a: 1 }), controller.start("add", { a: 2 })]);
  assert.equal(api.requests.filter((each) => each === "POST /api/sessions").length, 1);
  assert.equal(api.requests.filter((each) => each.startsWith("PATCH")).length, 1);
  assert.equal(api.requests.filter((each) => each === "STREAM").length, 1);
  assert.deepEqual(
    api.calls.map((each) => each["session_id"]),
    [stored.get(KEY), stored.get(KEY)],
  );
  const shown = controller.shown("add");
  assert.deepEqual(
    shown.map(({ call, sent }) => [call.status, sent]),
    [
      ["succeeded", { a: 2 }],
      ["succeeded", { a: 1 }],
    ],
  );
});

test("a run that could not be sent is sent again as the same call", async () => {
  const { api, controller } = controllerOf();
  api.problems.set("POST /api/executions", new TypeError("Failed to fetch"));
  await controller.start("add", {});
  const [unsent] = controller.shown("add");
  assert.equal(unsent?.problem, "Failed to fetch");
  await controller.retry(unsent?.key ?? "");
  assert.deepEqual(
    api.calls.map((each) => each["call_id"]),
    [unsent?.key],
  );
  assert.equal(controller.shown("add")[0]?.problem, "");
});

test("a browser that stores nothing still uses one session", async () => {
  useMemoryStorage({ isForbidden: true });
  const { api, controller } = controllerOf();
  await controller.start("add", {});
  await controller.start("add", {});
  assert.equal(new Set(api.calls.map((each) => each["session_id"])).size, 1);
});

test("a deleted session is replaced by a new one", async () => {
  stored.set(KEY, "old");
  const { api, controller } = controllerOf();
  api.problems.set("POST /api/sessions", new Problem(404, "session_not_found", "There is no such session."));
  await controller.start("add", {});
  assert.notEqual(stored.get(KEY), "old");
  assert.deepEqual(
    api.calls.map((each) => each["session_id"]),
    [stored.get(KEY)],
  );
});

test("a reload shows earlier runs as soon as the board is read", async () => {
  stored.set(KEY, "s1");
  const api = new FakeApi();
  api.executions = [{ execution_id: "x1", call_id: "c1", tool: "add", status: "failed", error: { message: "No." } }];
  const { controller } = controllerOf(api);
  controller.hostConnected();
  controller.hostUpdate();
  assert.equal(
    api.requests.includes("GET /api/executions"),
    false,
    "the board is read first, so that no end is missed",
  );
  controller.session.isReady = true;
  controller.session.connection = { state: "connected", delay: 0, silence: 0 };
  controller.hostUpdate();
  controller.hostUpdate();
  await settled();
  assert.deepEqual(
    controller.shown("add").map(({ call }) => call.error?.message),
    ["No."],
  );
  assert.equal(api.requests.filter((each) => each === "GET /api/executions").length, 1);
});

test("a session that is gone is forgotten", async () => {
  stored.set(KEY, "s1");
  const api = new FakeApi();
  api.problems.set("STREAM", new Problem(404, "session_not_found", "Gone."));
  const { controller } = controllerOf(api);
  controller.hostConnected();
  await settled();
  assert.deepEqual([controller.sessionId, controller.shown("add")], [null, []]);
});
