import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReactiveControllerHost } from "lit";
import type { ApiClient, Query } from "../api/api-client.ts";
import { Problem } from "../api/problem.ts";
import { ToolDetailsController } from "./tool-details-controller.ts";

const host = { addController: () => undefined, requestUpdate: () => undefined } as unknown as ReactiveControllerHost;

function detailsOf(get: (path: string, query: Query) => unknown) {
  const requests: string[] = [];
  const controller = new ToolDetailsController(host);
  controller.api = {
    get: async (path: string, query: Query = {}) => {
      requests.push(`${path}${query["session_id"] ? ` in ${query["session_id"]}` : ""}`);
      return get(path, query);
    },
  } as unknown as ApiClient;
  return { controller, requests };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));
const breaker = (state: string) => ({ scope: "tool", target: null, state, refused_for: 0 });

test("a tool is loaded with its statistics, and changes of its breaker are noted", async () => {
  let breakers = [breaker("open")];
  const { controller } = detailsOf((path) =>
    path.startsWith("/api/tools/") ? { tool: { name: "a b" }, breakers, statistics: null } : { minutes: [] },
  );
  controller.show("a b");
  await settled();
  assert.equal(controller.details?.tool.name, "a b");
  assert.equal(controller.hour?.times.length, 60);
  assert.deepEqual(controller.changes, []);
  breakers = [];
  await controller.refresh();
  assert.deepEqual(
    controller.changes.map(({ from, to }) => [from, to]),
    [["open", "closed"]],
  );
  controller.show("other");
  assert.deepEqual([controller.details, controller.changes], [null, []]);
});

test("without a tool, the statistics of all are loaded, and of a tool of the page nothing", async () => {
  const { controller, requests } = detailsOf(() => ({ minutes: [] }));
  controller.show("");
  await settled();
  assert.deepEqual(requests, ["/api/statistics"]);
  controller.show(null);
  await settled();
  assert.deepEqual(requests, ["/api/statistics"]);
});

test("a session that is gone is left out, and an unknown tool is missing", async () => {
  let code = "session_not_found";
  const { controller, requests } = detailsOf((path, query) => {
    if (path === "/api/statistics") return { minutes: [] };
    if (query["session_id"] || code === "tool_not_found") throw new Problem(404, code, "Not found.");
    return { tool: { name: "a" }, breakers: [], statistics: null };
  });
  controller.show("a", "s1");
  await settled();
  assert.deepEqual(requests, ["/api/tools/a in s1", "/api/statistics", "/api/tools/a"]);
  assert.equal(controller.details?.tool.name, "a");
  code = "tool_not_found";
  controller.show("b", "s1");
  await settled();
  assert.deepEqual([controller.isMissing, controller.error], [true, "Not found."]);
});
