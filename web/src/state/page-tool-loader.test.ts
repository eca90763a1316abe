import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { usePageGlobals } from "../testing/page-globals.ts";
import { EMPTY_CONVERSATION, newCall } from "./conversation.ts";
import { PageToolLoader } from "./page-tool-loader.ts";
import type { SessionController } from "./session-controller.ts";

let restore = () => {};
beforeEach(() => {
  restore = usePageGlobals({
    requestIdleCallback: (action: () => void) => queueMicrotask(action),
    document: { hasFocus: () => true, hidden: false },
  });
});
afterEach(() => restore());

type Module = Awaited<ReturnType<NonNullable<ConstructorParameters<typeof PageToolLoader>[2]>>>;

function loaderOf({ fails = 0 } = {}) {
  const seen = { loads: 0, updates: 0, controllers: 0, stops: 0, sessions: [] as string[] };
  class PageToolController {
    runs = new Map();
    constructor() {
      seen.controllers++;
    }
    update = (sessionId: string) => seen.sessions.push(sessionId);
    stop = () => seen.stops++;
    hurry = () => undefined;
  }
  const definitions = ["add", "where_am_i", "own"].map((name) => ({ name, description: "", parameters: {} }));
  const module = { PageToolController, pageToolDefinitions: () => definitions, globalToolRegistry: new EventTarget() };
  const host = { addController: () => undefined, requestUpdate: () => seen.updates++, isConnected: true };
  const session = {
    conversation: EMPTY_CONVERSATION,
    sessionId: "s1",
    isReady: true,
    connection: { state: "connected", delay: 0 },
    tools: new Map([
      ["add", { name: "add", namespace: "default" }],
      ["own", { name: "own", namespace: "front_end" }],
    ]),
    pageTools: async () => undefined as readonly unknown[] | undefined,
  };
  const load = async () => {
    seen.loads++;
    if (seen.loads <= fails) throw new TypeError("offline");
    return module as unknown as Module;
  };
  const loader = new PageToolLoader(host as never, session as unknown as SessionController, load);
  return { loader, session, host, seen, module };
}

test("definitions leave out the names of the server's own tools", async () => {
  const { session, seen } = loaderOf();
  const names = ((await session.pageTools()) as { name: string }[]).map(({ name }) => name);
  assert.deepEqual(names, ["where_am_i", "own"]);
  assert.equal(seen.loads, 1);
});

test("the tool system is loaded when the page is idle, and once", async () => {
  const { loader, session, seen } = loaderOf();
  session.isReady = false;
  loader.hostUpdated();
  assert.equal(seen.loads, 0);
  session.isReady = true;
  loader.hostUpdated();
  await new Promise((resolve) => setTimeout(resolve));
  loader.hostUpdated();
  await session.pageTools();
  assert.deepEqual([seen.loads, seen.controllers, seen.sessions], [1, 1, ["s1"]]);
});

test("nothing is loaded for a page without tools, unless a call needs it", async () => {
  const { loader, session, seen } = loaderOf();
  Reflect.deleteProperty(globalThis, Symbol.for("callboard.tool-registry"));
  loader.choice = { hasShipped: false, registry: null };
  loader.hostUpdated();
  assert.equal(await session.pageTools(), undefined);
  assert.equal(seen.loads, 0);
  const request = { id: "r", purpose: "front_end_tool", payload: {}, schema: {}, argumentsHash: null, expiresAt: null };
  const call = newCall("i1", { tool: "t", executionId: "x", request });
  session.conversation = { ...EMPTY_CONVERSATION, calls: new Map([["i1", call]]), requests: new Map([["r", "i1"]]) };
  loader.hostUpdated();
  assert.equal(seen.loads, 1);
});

test("a load that failed is tried again, and the message is sent without tools", async () => {
  const { session, seen } = loaderOf({ fails: 1 });
  assert.equal(await session.pageTools(), undefined);
  assert.notEqual(await session.pageTools(), undefined);
  assert.equal(seen.loads, 2);
});

test("a tool that is registered later is noticed", async () => {
  const { loader, session, seen, module } = loaderOf();
  await session.pageTools();
  loader.hostUpdated();
  const before = seen.updates;
  module.globalToolRegistry.dispatchEvent(new Event("tool-registry-change"));
  assert.equal(seen.updates, before + 1);
});

test("an element that is removed leaves its calls to other tabs, and one that is moved does not", async () => {
  const { loader, session, host, seen } = loaderOf();
  await session.pageTools();
  loader.hostDisconnected();
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(seen.stops, 0);
  host.isConnected = false;
  loader.hostDisconnected();
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(seen.stops, 1);
});
