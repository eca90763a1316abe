import assert from "node:assert/strict";
import { beforeEach, describe, mock, test } from "node:test";
import * as z from "zod";
import { calls, type Script, says, ScriptedAgent } from "../testing/scripted-agent.ts";
import { settle } from "../testing/manual-clock.ts";
import { AgUiAgent } from "./ag-ui-agent.ts";
import { helloTool } from "./hello-tool.ts";
import { ToolRegistry } from "./tool-registry.ts";
import type { ToolDefinition } from "./types.ts";

const EVENTS = [
  "run-started", "run-finished", "run-error", "interrupt", "tool-call-start", "tool-call-args", "tool-call-end",
  "tool-call-error", "tool-call-pending", "tool-status-changed", "tool-retrying",
] as const; // prettier-ignore

let seen: [string, Record<string, unknown>][];

/** Make an element whose agent answers as scripted, with its own registry. */
function element(...scripts: Script[]): [AgUiAgent, ScriptedAgent] {
  const agent = new AgUiAgent();
  const remote = new ScriptedAgent(...scripts);
  agent.url = "/ag-ui";
  agent.fetch = remote.fetch;
  agent.registry = new ToolRegistry();
  for (const name of EVENTS) {
    agent.addEventListener(`ag-ui-${name}`, (event) =>
      seen.push([name, (event as CustomEvent).detail as Record<string, unknown>]),
    );
  }
  return [agent, remote];
}

function tool(name: string, handler: ToolDefinition["handler"], idempotent = false): ToolDefinition {
  return { name, description: "A tool.", schema: z.object({}), metadata: { idempotent }, handler };
}

const names = () => seen.map(([name]) => name);
const detailsOf = (wanted: string) => seen.filter(([name]) => name === wanted).map(([, detail]) => detail);
const never = () => new Promise<string>(() => {});

beforeEach(() => {
  seen = [];
});

describe("a run", () => {
  test("sends the user's message and the tools, and ends with the model's text", async () => {
    const [agent, remote] = element(() => says("Hello."));
    agent.registerTool(helloTool);
    agent.headers = { Authorization: "Bearer x" };
    const work = agent.run("Hi", { context: [{ description: "page", value: "home" }], forwardedProps: { a: 1 } });
    assert.equal(agent.isRunning, true);
    assert.deepEqual(await work, { outcome: "success" });
    assert.equal(agent.isRunning, false);
    const [input] = remote.runs;
    assert.deepEqual([remote.sent(0), input?.tools.map(({ name }) => name)], [[["user", "Hi"]], ["hello"]]);
    assert.deepEqual([input?.context, input?.forwardedProps], [[{ description: "page", value: "home" }], { a: 1 }]);
    assert.deepEqual(
      agent.messages.map(({ role }) => role),
      ["user", "assistant"],
    );
    assert.deepEqual(names(), ["run-started", "run-finished"]);
  });

  test("events bubble and are composed, and messages are told as they change", async () => {
    const [agent] = element(() => says("Hello."));
    const told: [boolean, boolean, number][] = [];
    agent.addEventListener("ag-ui-messages-changed", ({ bubbles, composed, detail }) =>
      told.push([bubbles, composed, detail.messages.length]),
    );
    await agent.run("Hi");
    assert.deepEqual(told[0], [true, true, 1]);
    assert.deepEqual(told.at(-1), [true, true, 2]);
  });

  test("only one at a time", async () => {
    const [agent] = element(() => says("Hello."));
    const work = agent.run("Hi");
    await assert.rejects(agent.run("again"), /under way/);
    await work;
    assert.equal(agent.messages.length, 2);
  });

  test("an error of the agent, of the network, and a stream that ends early, are told once", async () => {
    const [agent] = element(
      () => [{ type: "RUN_ERROR", message: "no model", code: "error" }],
      () => [{ type: "CUT" }],
    );
    const logged = mock.method(console, "error", () => {});
    for (const expected of [/no model/, /ended|terminat|before/i, /Failed to fetch/]) {
      seen = [];
      const result = await agent.run("Hi");
      assert.equal(result.outcome, "error");
      assert.match(result.outcome === "error" ? result.error.message : "", expected);
      assert.equal(names().filter((name) => name === "run-error").length, 1);
    }
    logged.mock.restore();
  });

  test("shared state goes both ways", async () => {
    const [agent, remote] = element(() => [{ type: "STATE_SNAPSHOT", snapshot: { n: 2 } }]);
    agent.state = { n: 1 };
    const states: unknown[] = [];
    agent.addEventListener("ag-ui-state-changed", ({ detail }) => states.push(detail.state));
    await agent.run();
    assert.deepEqual([remote.runs[0]?.state, agent.state, states.at(-1)], [{ n: 1 }, { n: 2 }, { n: 2 }]);
  });
});

describe("tools of the page", () => {
  test("are carried out, and their results are sent with another run", async () => {
    const [agent, remote] = element(
      () => calls("c1", "hello", { name: "Ada" }),
      () => says("Greeted."),
    );
    agent.registerTool(helloTool);
    assert.deepEqual(await agent.run("Greet Ada"), { outcome: "success" });
    assert.deepEqual(remote.sent(1), [
      ["user", "Greet Ada"],
      ["calls", "c1"],
      ["tool", "Hello, Ada!"],
    ]);
    assert.deepEqual(names(), [
      "run-started", "tool-call-start", "tool-call-args", "tool-call-args", "run-finished",
      "tool-status-changed", "tool-status-changed", "tool-status-changed", "tool-status-changed", "tool-call-end",
      "run-started", "run-finished",
    ]); // prettier-ignore
    assert.deepEqual(
      detailsOf("tool-status-changed").map(({ status }) => status),
      ["pending", "validating", "executing", "succeeded"],
    );
    const [end] = detailsOf("tool-call-end");
    assert.deepEqual([end?.["toolCallId"], end?.["toolCallName"], end?.["result"]], ["c1", "hello", "Hello, Ada!"]);
    assert.deepEqual(end?.["execution"], agent.manager.getExecutionsForToolCall("c1")[0]);
    assert.deepEqual(
      detailsOf("tool-call-args").map(({ argsText }) => argsText),
      ['{"n', '{"name":"Ada"}'],
    );
  });

  test("run side by side, and their results are in the order of the calls", async () => {
    const [agent, remote] = element(
      () => [...calls("c1", "slow", {}), ...calls("c2", "fast", {})],
      () => says("Done."),
    );
    let finish: (result: string) => void = () => {};
    agent.registerTool(tool("slow", () => new Promise((resolve) => (finish = resolve))));
    agent.registerTool(tool("fast", () => (finish("slow"), "fast")));
    await agent.run("Go");
    assert.deepEqual(remote.sent(1).slice(-2), [
      ["tool", "slow"],
      ["tool", "fast"],
    ]);
  });

  test("that fail tell the model why, in a form that it can act on", async () => {
    const [agent, remote] = element(
      () => [...calls("c1", "hello", { name: 5 }), ...calls("c2", "hello", '{"name":')],
      () => says("Sorry."),
    );
    agent.registerTool(helloTool);
    await agent.run("Go");
    for (const message of remote.runs[1]?.messages.slice(-2) ?? []) {
      assert.ok(message.role === "tool" && message.error);
      assert.equal((JSON.parse(String(message.content)) as { category: string }).category, "validation");
    }
    const errors = detailsOf("tool-call-error");
    assert.deepEqual(
      errors.map(({ error }) => (error as { category: string }).category),
      ["validation", "validation"],
    );
    assert.ok(errors.every(({ execution }) => (execution as { status: string }).status === "failed"));
  });

  test("get the tool that the model saw, also if the registry changes meanwhile", async () => {
    const [agent, remote] = element(
      () => {
        agent.registry.clear();
        agent.registerTool(tool("hello", () => "another"));
        return calls("c1", "hello", { name: "Ada" });
      },
      () => says("Done."),
    );
    agent.registerTool(helloTool);
    await agent.run("Go");
    assert.deepEqual(remote.sent(1).at(-1), ["tool", "Hello, Ada!"]);
  });

  test("of the agent have an end too, and are not carried out here", async () => {
    const [agent] = element(() => [
      ...calls("c1", "search", {}),
      { type: "TOOL_CALL_RESULT", messageId: "r1", toolCallId: "c1", content: "found" },
      ...says("Found."),
    ]);
    assert.deepEqual(await agent.run("Go"), { outcome: "success" });
    const expected = { toolCallId: "c1", toolCallName: "search", result: "found", execution: undefined };
    assert.deepEqual(detailsOf("tool-call-end"), [expected]);
  });

  test("a model that calls tools for ever is stopped", async () => {
    let count = 0;
    const [agent, remote] = element(
      ...Array.from({ length: 200 }, () => () => calls(`c${count++}`, "hello", { name: "Ada" })),
    );
    agent.registerTool(helloTool);
    const result = await agent.run("Go");
    assert.deepEqual([result.outcome, remote.runs.length], ["error", 100]);
  });
});

describe("calls that wait", () => {
  const pay: ToolDefinition["handler"] = () => "paid";
  /** The messages of a thread after a reload: the agent sends them, and nothing streams the call again. */
  const reloaded: Script = () => [
    {
      type: "MESSAGES_SNAPSHOT",
      messages: [
        { id: "u", role: "user", content: "Pay" },
        {
          id: "a",
          role: "assistant",
          toolCalls: [{ id: "c1", type: "function", function: { name: "pay", arguments: "{}" } }],
        },
      ],
    },
    { type: "RUN_FINISHED", outcome: { type: "success", pendingToolCallIds: ["c1"] } },
  ];

  test("after a reload, an idempotent tool is carried out again", async () => {
    const [agent, remote] = element(reloaded, () => says("Done."));
    agent.registerTool(tool("pay", pay, true));
    assert.deepEqual(await agent.run(), { outcome: "success" });
    assert.deepEqual(remote.sent(1).at(-1), ["tool", "paid"]);
  });

  test("after a reload, another tool waits for a decision, which may be to carry it out", async () => {
    const [agent, remote] = element(reloaded, () => says("Done."));
    agent.registerTool(tool("pay", pay));
    const result = await agent.run();
    const expected = [{ toolCallId: "c1", toolCallName: "pay", args: {}, reason: "interrupted" }];
    assert.deepEqual(result, { outcome: "pending", pendingToolCalls: expected });
    assert.deepEqual(
      [agent.pendingToolCalls, detailsOf("tool-call-pending"), remote.runs.length],
      [expected, [{ call: expected[0] }], 1],
    );
    assert.deepEqual(await agent.answerToolCall("c1"), { outcome: "success" });
    assert.deepEqual([remote.sent(1).at(-1), agent.pendingToolCalls], [["tool", "paid"], []]);
  });

  test("or a result of yours", async () => {
    const [agent, remote] = element(reloaded, () => says("Done."));
    agent.registerTool(tool("pay", never));
    await agent.run();
    await agent.answerToolCall("c1", { success: true, result: "paid before" });
    assert.deepEqual(remote.sent(1).at(-1), ["tool", "paid before"]);
    await assert.rejects(agent.answerToolCall("c1"), /No call c1 waits/);
  });

  test("a tool that the page does not have is left alone, and the run continues when all have results", async () => {
    const [agent, remote] = element(
      () => [...calls("c1", "hello", { name: "Ada" }), ...calls("c2", "other", {}), ...calls("c3", "other", {})],
      () => says("Done."),
    );
    agent.registerTool(helloTool);
    const result = await agent.run("Go");
    assert.deepEqual(result.outcome === "pending" && result.pendingToolCalls.map(({ reason }) => reason), [
      "unknown_tool",
      "unknown_tool",
    ]);
    await assert.rejects(agent.answerToolCall("c2"), /no tool other/);
    const partly = await agent.answerToolCall("c2", { success: true, result: "two" });
    assert.deepEqual([partly.outcome, remote.runs.length], ["pending", 1]);
    assert.equal((await agent.answerToolCall("c3", { success: true, result: "three" })).outcome, "success");
    assert.deepEqual(
      remote
        .sent(1)
        .slice(-3)
        .map((each) => (each as string[])[1]),
      ["Hello, Ada!", "two", "three"],
    );
  });

  test("a call whose run was lost before its end is carried out by the next run, once", async () => {
    const lost: Script = () => [...calls("c1", "pay", {}), { type: "CUT" }];
    const again: Script = () => [{ type: "RUN_FINISHED", outcome: { type: "success", pendingToolCallIds: ["c1"] } }];
    const [agent, remote] = element(lost, again, again, () => says("Done."));
    let count = 0;
    agent.registerTool(tool("pay", () => `paid ${(count += 1)}`));
    assert.equal((await agent.run("Pay")).outcome, "error");
    assert.deepEqual(await agent.run(), { outcome: "success" });
    assert.deepEqual([count, remote.sent(2).at(-1)], [1, ["tool", "paid 1"]]);
  });
});

describe("interrupts", () => {
  const interrupts = [{ id: "i1", reason: "tool_call", toolCallId: "c1" }];
  const asks: Script = () => [
    ...calls("c1", "pay", {}),
    { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts } },
  ];
  const goesOn: Script = () => [
    { type: "TOOL_CALL_RESULT", messageId: "r1", toolCallId: "c1", content: "paid" },
    ...says("Paid."),
  ];

  test("are told, and resumed with answers", async () => {
    const [agent, remote] = element(asks, goesOn);
    const result = await agent.run("Pay");
    assert.deepEqual(result, { outcome: "interrupt", interrupts });
    assert.deepEqual([agent.interrupts, detailsOf("interrupt")], [interrupts, [{ interrupts }]]);
    await assert.rejects(agent.run("And?"), /resume/);
    await assert.rejects(agent.resume({}), /missing/);
    const resumed = await agent.resume({ i1: { status: "resolved", payload: { approved: true } } });
    assert.deepEqual([resumed, agent.interrupts], [{ outcome: "success" }, []]);
    assert.deepEqual(remote.runs[1]?.resume, [{ interruptId: "i1", status: "resolved", payload: { approved: true } }]);
  });
});

describe("abort", () => {
  test("while the model writes", async () => {
    const [agent] = element(async function* (_, signal) {
      yield { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" };
      agent.abort();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    assert.deepEqual(await agent.run("Hi"), { outcome: "aborted" });
    assert.deepEqual([names().includes("run-error"), agent.isRunning], [false, false]);
  });

  test("cancels the calls, and the model is told with the next run", async () => {
    const [agent, remote] = element(
      () => calls("c1", "slow", {}),
      () => says("Stopped."),
    );
    let signal: AbortSignal | undefined;
    agent.registerTool(tool("slow", (_, context) => ((signal = context.signal), agent.abort(), never())));
    assert.deepEqual(await agent.run("Go"), { outcome: "aborted" });
    assert.deepEqual([signal?.aborted, remote.runs.length], [true, 1]);
    assert.equal((detailsOf("tool-call-error")[0]?.["error"] as { category: string }).category, "cancelled");
    await agent.run("What now?");
    const [user, call, result, next] = remote.sent(1) as string[][];
    assert.deepEqual([user?.[0], call?.[0], result?.[0], next], ["user", "calls", "tool", ["user", "What now?"]]);
    assert.match(result?.[1] ?? "", /cancelled/);
  });

  test("while a call arrives: what is complete counts as cancelled, what was cut off is removed", async () => {
    const [agent, remote] = element(
      async function* (_, signal) {
        yield* calls("c1", "slow", {});
        yield { type: "TOOL_CALL_START", toolCallId: "c2", toolCallName: "slow" };
        yield { type: "TOOL_CALL_ARGS", toolCallId: "c2", delta: '{"a": ' };
        await settle();
        agent.abort();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      () => says("Stopped."),
    );
    agent.addEventListener("ag-ui-tool-call-args", ({ detail }) => detail.toolCallId === "c2" && agent.abort());
    await agent.run("Go");
    await agent.run("What now?");
    assert.deepEqual(
      remote.sent(1).map((each) => (each as string[])[0]),
      ["user", "calls", "tool", "user"],
    );
    assert.deepEqual(remote.sent(1)[1], ["calls", "c1"]);
  });
});

test("another thread begins without messages, and the old run says nothing", async () => {
  const [agent, remote] = element(
    async function* (_, signal) {
      yield { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
    () => says("Hello."),
  );
  agent.attributeChangedCallback("thread-id", null, "one");
  const old = agent.run("Hi");
  await settle();
  agent.threadId = "two";
  assert.deepEqual([agent.messages, agent.isRunning], [[], false]);
  assert.equal((await agent.run("Hello")).outcome, "success");
  assert.equal((await old).outcome, "aborted");
  assert.deepEqual([remote.runs.map(({ threadId }) => threadId), agent.threadId], [["one", "two"], "two"]);
  assert.equal(agent.messages.length, 2);
});
