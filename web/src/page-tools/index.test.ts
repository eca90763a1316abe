import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { ToolRegistry } from "../tools/tool-registry.ts";
import { findPageTool, listPageTools, pageToolDefinitions, pageToolManager, shippedTools } from "./index.ts";

const NAMES = ["copy_to_clipboard", "download_file", "local_time", "show_notification", "where_am_i"];

function registryOf(name: string): ToolRegistry {
  const registry = new ToolRegistry();
  registry.register({ name, description: "Do it.", schema: z.object({ a: z.string() }), handler: () => "done" });
  return registry;
}

test("the shipped tools have schemas with descriptions", () => {
  assert.deepEqual(shippedTools.names().toSorted(), NAMES);
  const [copy] = pageToolDefinitions().filter(({ name }) => name === "copy_to_clipboard");
  assert.deepEqual(copy?.parameters, {
    type: "object",
    properties: { text: { type: "string", minLength: 1, maxLength: 100_000, description: "The text to copy" } },
    required: ["text"],
    additionalProperties: false,
  });
});

test("the definitions are short, because each message carries them", () => {
  assert.ok(JSON.stringify(pageToolDefinitions()).length < 2_500);
});

test("a tool of the embedding page replaces a shipped one of the same name", () => {
  const registry = registryOf("local_time");
  assert.equal(findPageTool("local_time", { registry }), registry.get("local_time"));
  assert.equal(pageToolDefinitions({ registry }).filter(({ name }) => name === "local_time").length, 1);
  assert.equal(listPageTools({ registry }).find(({ name }) => name === "local_time")?.isShipped, false);
});

test("the shipped tools can be switched off", () => {
  const registry = registryOf("own");
  assert.deepEqual(
    pageToolDefinitions({ registry, hasShipped: false }).map(({ name }) => name),
    ["own"],
  );
  assert.equal(findPageTool("where_am_i", { registry, hasShipped: false }), undefined);
});

test("the list has what a catalogue shows", async () => {
  const registry = registryOf("own");
  const own = registry.get("own");
  assert.ok(own);
  await pageToolManager.execute(own, "c1", { a: "x" });
  const listed = listPageTools({ registry });
  assert.deepEqual(
    listed.map(({ name }) => name),
    [...NAMES, "own"].toSorted(),
  );
  const found = listed.find(({ name }) => name === "own");
  assert.equal(found?.title, "Own");
  assert.deepEqual(found.breaker, { state: "closed", refusedFor: 0 });
  assert.deepEqual([found.statistics.calls, found.statistics.successes], [1, 1]);
  assert.equal(listed.find(({ name }) => name === "download_file")?.idempotent, false);
});
