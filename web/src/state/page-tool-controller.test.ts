import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import * as z from "zod";
import { parseJson } from "../api/exact-integer.ts";
import { Problem } from "../api/problem.ts";
import { gestures } from "../page-tools/gestures.ts";
import { FakeLocks } from "../testing/fake-locks.ts";
import { settle } from "../testing/manual-clock.ts";
import { useMemoryStorage } from "../testing/memory-storage.ts";
import { until } from "../testing/until.ts";
import { ToolError } from "../tools/errors.ts";
import { ToolExecutionManager } from "../tools/tool-execution-manager.ts";
import type { ToolDefinition, ToolExecutionContext } from "../tools/types.ts";
import { type Call, newCall } from "./conversation.ts";
import { PageToolController } from "./page-tool-controller.ts";
import type { PageOutcome } from "./page-tool-journal.ts";

beforeEach(() => void useMemoryStorage());

/** A tool whose runs the test ends. */
class ManualTool {
  readonly runs: { readonly end: (result: string) => void; readonly fail: (error: Error) => void }[] = [];
  readonly contexts: ToolExecutionContext[] = [];
  readonly given: unknown[] = [];
  readonly definition: ToolDefinition;

  constructor(idempotent: boolean) {
    this.definition = {
      name: "manual",
      description: "Wait for the test.",
      schema: z.looseObject({}),
      metadata: { idempotent, retryConfig: { baseDelayMs: 0 } },
      handler: (args, context) => {
        this.given.push(args);
        this.contexts.push(context);
        return new Promise<string>((end, fail) => this.runs.push({ end, fail }));
      },
    };
  }
}

/** A server that takes one outcome, unless it has a problem. */
class FakeServer {
  readonly sent: { outcome: PageOutcome; key: string }[] = [];
  problems: Error[] = [];
}

type Found = ManualTool | null;

function tabOf(tool: Found | (() => Found), server = new FakeServer(), locks: FakeLocks | undefined = new FakeLocks()) {
  const page = new EventTarget();
  const controller = new PageToolController(
    {
      manager: new ToolExecutionManager(),
      find: () => (typeof tool === "function" ? tool() : tool)?.definition,
      send: async (_sessionId, _request, outcome, key) => {
        server.sent.push({ outcome, key });
        const problem = server.problems.shift();
        if (problem !== undefined) throw problem;
      },
      patience: () => 0,
      onChange: () => undefined,
      locks,
    },
    undefined,
    page,
  );
  const state = () => controller.runs.get("x1")?.state;
  return { controller, state, server, page };
}

function callOf(purpose = "front_end_tool"): Call {
  const request = { id: "r1", purpose, payload: {}, schema: {}, argumentsHash: null, expiresAt: null };
  return newCall("i1", { tool: "manual", executionId: "x1", status: "waiting", request });
}

test("a call is executed once, and its result is sent", async () => {
  const tool = new ManualTool(false);
  const { controller, server, state } = tabOf(tool);
  controller.update("s1", [callOf()]);
  controller.update("s1", [callOf()]);
  await settle();
  assert.equal(state(), "running");
  tool.runs[0]?.end('{"a": 1}');
  await settle();
  assert.deepEqual(server.sent, [{ outcome: { answer: { a: 1 } }, key: "page-tool-answer-r1" }]);
  assert.equal(state(), "sent");
  assert.equal(tool.runs.length, 1);
  assert.equal(tool.contexts[0]?.toolCallId, "r1", "the same after a reload");
});

test("texts are sent as texts", async () => {
  const tool = new ManualTool(false);
  const { controller, server } = tabOf(tool);
  controller.update("s1", [callOf()]);
  await settle();
  tool.runs[0]?.end("[not JSON");
  await settle();
  assert.deepEqual(server.sent[0]?.outcome, { answer: "[not JSON" });
});

test("requests to people are left to them", async () => {
  const tool = new ManualTool(true);
  const { controller } = tabOf(tool);
  controller.update("s1", [callOf("question")]);
  await settle();
  assert.deepEqual([tool.runs.length, controller.runs.size], [0, 0]);
});

test("a call is executed when its arguments are loaded", async () => {
  const tool = new ManualTool(false);
  const { controller } = tabOf(tool);
  const { request, ...call } = callOf();
  assert.ok(request);
  controller.update("s1", [{ ...call, request: { ...request, payload: null, isCut: true } }]);
  await settle();
  assert.equal(tool.runs.length, 0);
  controller.update("s1", [{ ...call, request }]);
  await settle();
  assert.equal(tool.runs.length, 1);
});

test("a tool of the page gets numbers, also for large integers", async () => {
  const tool = new ManualTool(false);
  const { controller } = tabOf(tool);
  const { request, ...call } = callOf();
  assert.ok(request);
  controller.update("s1", [{ ...call, request: { ...request, payload: parseJson('{"id":9007199254740993}') } }]);
  await settle();
  assert.deepEqual(tool.given, [{ id: 9007199254740992 }]);
});

test("attempts and errors are shown, and the last error is sent", async () => {
  const tool = new ManualTool(true);
  const { controller, server } = tabOf(tool);
  controller.update("s1", [callOf()]);
  await settle();
  tool.runs[0]?.fail(new ToolError("not yet", { category: "transient" }));
  await until(() => tool.runs.length === 2);
  const { attempt, maximum, errors } = controller.runs.get("x1") ?? {};
  assert.deepEqual([attempt, maximum, errors], [2, 3, [{ category: "transient", message: "not yet" }]]);
  tool.runs[1]?.fail(new ToolError("never", { category: "permanent" }));
  await settle();
  assert.deepEqual(server.sent[0]?.outcome, { error: { category: "permanent", message: "never" } });
});

test("after a reload a call that began runs again if that is safe", async () => {
  const before = new ManualTool(true);
  tabOf(before).controller.update("s1", [callOf()]);
  await settle();
  const after = new ManualTool(true);
  const { controller, server } = tabOf(after);
  controller.update("s1", [callOf()]);
  await settle();
  after.runs[0]?.end("again");
  await settle();
  assert.deepEqual(server.sent[0]?.outcome, { answer: "again" });
});

test("after a reload the person decides about a call that must not run twice", async () => {
  for (const choice of ["run", "give-up"] as const) {
    useMemoryStorage();
    tabOf(new ManualTool(false)).controller.update("s1", [callOf()]);
    await settle();
    const tool = new ManualTool(false);
    const { controller, server, state } = tabOf(tool);
    controller.update("s1", [callOf()]);
    await settle();
    assert.deepEqual([state(), tool.runs.length], ["asking", 0]);
    controller.choose("r1", choice);
    await settle();
    tool.runs[0]?.end("again");
    await settle();
    const { outcome } = server.sent[0] ?? {};
    if (choice === "run") assert.deepEqual(outcome, { answer: "again" });
    else assert.match(JSON.stringify(outcome), /interrupted.*not known whether it took effect/);
  }
});

test("after a reload an outcome that the server lacks is sent, and nothing runs", async () => {
  const first = new ManualTool(false);
  const lost = tabOf(first);
  lost.server.problems = [new TypeError("failed to fetch")];
  lost.controller.update("s1", [callOf()]);
  await settle();
  first.runs[0]?.end("done");
  await settle();
  assert.equal(lost.state(), "sending");
  lost.controller.stop();
  const tool = new ManualTool(false);
  const { controller, server } = tabOf(tool);
  controller.update("s1", [callOf()]);
  await settle();
  assert.deepEqual(server.sent, [{ outcome: { answer: "done" }, key: "page-tool-answer-r1" }]);
  assert.equal(tool.runs.length, 0);
});

test("one of two tabs executes a call, and the other takes over when it is closed", async () => {
  const [locks, server] = [new FakeLocks(), new FakeServer()];
  const [one, two] = [new ManualTool(true), new ManualTool(true)];
  const [first, second] = [tabOf(one, server, locks), tabOf(two, server, locks)];
  first.controller.update("s1", [callOf()]);
  second.controller.update("s1", [callOf()]);
  await settle();
  assert.deepEqual([first.state(), second.state()], ["running", "elsewhere"]);
  assert.equal(two.runs.length, 0);
  locks.release("callboard.page-tool.r1");
  await settle();
  assert.equal(second.state(), "running");
  two.runs[0]?.end("done");
  await settle();
  assert.deepEqual(server.sent[0]?.outcome, { answer: "done" });
});

test("a page that the browser keeps for the Back button leaves its calls to other tabs", async () => {
  const [locks, server] = [new FakeLocks(), new FakeServer()];
  const [one, two] = [new ManualTool(true), new ManualTool(true)];
  const [first, second] = [tabOf(one, server, locks), tabOf(two, server, locks)];
  first.controller.update("s1", [callOf()]);
  second.controller.update("s1", [callOf()]);
  await settle();
  first.page.dispatchEvent(new Event("pagehide"));
  first.controller.update("s1", [callOf()]);
  await settle();
  assert.equal(one.contexts[0]?.signal.aborted, true);
  assert.equal(second.state(), "running");
  first.page.dispatchEvent(new Event("pageshow"));
  first.controller.update("s1", [callOf()]);
  await settle();
  assert.deepEqual([first.state(), one.runs.length], ["elsewhere", 1]);
  two.runs[0]?.end("done");
  await settle();
  assert.deepEqual(server.sent[0]?.outcome, { answer: "done" });
});

test("a tab that gets its turn late sends the same outcome again, which the server counts once", async () => {
  const [locks, server] = [new FakeLocks(), new FakeServer()];
  const [one, two] = [new ManualTool(false), new ManualTool(false)];
  tabOf(one, server, locks).controller.update("s1", [callOf()]);
  tabOf(two, server, locks).controller.update("s1", [callOf()]);
  await settle();
  one.runs[0]?.end("done");
  await settle();
  assert.equal(two.runs.length, 0);
  assert.equal(new Set(server.sent.map((each) => JSON.stringify(each))).size, 1);
});

test("a call that is closed is cancelled in the browser", async () => {
  const tool = new ManualTool(false);
  const { controller, server } = tabOf(tool);
  controller.update("s1", [callOf()]);
  await settle();
  controller.update("s1", []);
  await settle();
  assert.ok(tool.contexts[0]?.signal.aborted);
  tool.runs[0]?.end("late");
  await settle();
  assert.deepEqual(server.sent, []);
});

test("a call continues while the person looks at another conversation", async () => {
  const tool = new ManualTool(false);
  const { controller, server } = tabOf(tool);
  controller.update("s1", [callOf()]);
  await settle();
  controller.update("s2", []);
  tool.runs[0]?.end("done");
  await settle();
  assert.deepEqual(server.sent[0]?.outcome, { answer: "done" });
});

test("an outcome is sent until the server has it", async () => {
  const tool = new ManualTool(false);
  const { controller, server, state } = tabOf(tool);
  server.problems = [new TypeError("failed to fetch"), new Problem(503, "draining", "later")];
  controller.update("s1", [callOf()]);
  await settle();
  tool.runs[0]?.end("done");
  await settle();
  assert.deepEqual([state(), server.sent.length], ["sending", 1]);
  controller.hurry();
  await settle();
  controller.hurry();
  await settle();
  assert.deepEqual([state(), server.sent.length], ["sent", 3]);
});

test("a result that the server refuses is an error for the model", async () => {
  const tool = new ManualTool(false);
  const { controller, server } = tabOf(tool);
  server.problems = [new Problem(422, "answer_invalid", "too large")];
  controller.update("s1", [callOf()]);
  await settle();
  tool.runs[0]?.end("x");
  await settle();
  assert.match(JSON.stringify(server.sent[1]), /refused the result: too large/);
  assert.notEqual(server.sent[0]?.key, server.sent[1]?.key);
});

test("a request that was closed elsewhere needs no outcome", async () => {
  const tool = new ManualTool(false);
  const { controller, server, state } = tabOf(tool);
  server.problems = [new Problem(409, "request_closed", "closed")];
  controller.update("s1", [callOf()]);
  await settle();
  tool.runs[0]?.end("x");
  await settle();
  assert.deepEqual([state(), server.sent.length], ["sent", 1]);
});

test("a tool that is missing is found when it is registered", async () => {
  let tool: Found = null;
  const { controller, state } = tabOf(() => tool);
  controller.update("s1", [callOf()]);
  await settle();
  assert.equal(state(), "missing");
  tool = new ManualTool(true);
  controller.update("s1", [callOf()]);
  await settle();
  assert.equal(state(), "running");
});

test("a click that the browser requires is asked for, and decided on the card", async () => {
  const tool = new ManualTool(true);
  const { controller, state } = tabOf(tool);
  controller.update("s1", [callOf()]);
  await settle();
  const waiting = gestures.request("r1", "copy", new AbortController().signal);
  assert.equal(state(), "copy");
  controller.choose("r1", "allow");
  await waiting;
  assert.equal(state(), "running");
});

test("without locks or storage, the person decides about a call that must not run twice", async () => {
  const tool = new ManualTool(false);
  const server = new FakeServer();
  const controller = new PageToolController({
    manager: new ToolExecutionManager(),
    find: () => tool.definition,
    send: async (_sessionId, _request, outcome, key) => server.sent.push({ outcome, key }),
    patience: () => 0,
    onChange: () => undefined,
    locks: undefined,
  });
  controller.update("s1", [callOf()]);
  await settle();
  assert.equal(controller.runs.get("x1")?.state, "asking");
  controller.choose("r1", "run");
  await settle();
  assert.equal(tool.runs.length, 1);
});
