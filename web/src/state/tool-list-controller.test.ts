import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReactiveControllerHost } from "lit";
import type { ApiClient, Query } from "../api/api-client.ts";
import { ToolListController } from "./tool-list-controller.ts";

const host = { addController: () => undefined, requestUpdate: () => undefined } as unknown as ReactiveControllerHost;
const copy = { name: "copy", description: "Copies.", schema: { type: "object" }, category: "page", tags: ["browser"] };

function listOf(get: (path: string, query: Query) => unknown, browserTools = async () => [copy]): ToolListController {
  const controller = new ToolListController(host, browserTools);
  controller.api = { get: async (path: string, query: Query) => get(path, query) } as unknown as ApiClient;
  return controller;
}

test("all pages are read, and the tools of the page follow", async () => {
  const pages: Record<string, unknown> = {
    "": { tools: [{ name: "a" }, { name: "b" }], next: "b" },
    b: { tools: [{ name: "c" }], next: null },
  };
  const list = listOf((_, { after = "" }) => pages[after]);
  await list.refresh();
  assert.deepEqual(
    list.tools.map(({ id }) => id),
    ["a", "b", "c", "browser:copy"],
  );
  assert.deepEqual([list.tools[3]?.group, list.tools[3]?.mode, list.isLoading], ["page", "browser", false]);
});

test("a list that never ends is read up to a bound", async () => {
  let count = 0;
  const list = listOf(() => ({ tools: [{ name: `t${count++}` }], next: "again" }));
  await list.refresh();
  assert.equal(count, 20);
});

test("tools of the server are listed without those of the page, and an error is reported", async () => {
  let isDown = false;
  const failing = async () => Promise.reject(new Error("no chunk"));
  const list = listOf(() => {
    if (isDown) throw new Error("The server is away.");
    return { tools: [{ name: "a" }], next: null };
  }, failing);
  await list.refresh();
  assert.deepEqual(
    list.tools.map(({ id }) => id),
    ["a"],
  );
  isDown = true;
  await list.refresh();
  assert.deepEqual([list.error, list.tools.length, list.isLoading], ["The server is away.", 1, false]);
});

test("a response after the element is gone is dropped", async () => {
  const list = listOf(() => ({ tools: [{ name: "a" }], next: null }));
  const loading = list.refresh();
  list.hostDisconnected();
  await loading;
  assert.deepEqual(list.tools, []);
});
