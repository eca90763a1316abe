import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import * as z from "zod";
import * as mini from "zod/mini";
import { RegistrationError } from "./errors.ts";
import { helloTool } from "./hello-tool.ts";
import { globalToolRegistry, ToolRegistry } from "./tool-registry.ts";
import type { ToolDefinition, ToolMetadata } from "./types.ts";

function named(name: string, metadata: ToolMetadata = {}): ToolDefinition {
  return { name, description: "A tool.", schema: z.object({}), metadata, handler: () => name };
}

describe("ToolRegistry", () => {
  let registry: ToolRegistry;
  let changes: unknown[];

  beforeEach(() => {
    registry = new ToolRegistry();
    changes = [];
    registry.addEventListener("tool-registry-change", ({ detail }) => changes.push(detail));
  });

  test("finds tools by name, category and tag, in the order of registration", () => {
    const tools = [
      named("b", { category: "x", tags: ["t"] }),
      named("a", { category: "y", tags: ["t", "u"] }),
      named("c"),
    ];
    for (const tool of tools) registry.register(tool);
    assert.deepEqual(registry.names(), ["b", "a", "c"]);
    assert.deepEqual(registry.all(), tools);
    assert.equal(registry.get("a"), tools[1]);
    assert.equal(registry.get("z"), undefined);
    assert.deepEqual([registry.has("a"), registry.has("z")], [true, false]);
    assert.deepEqual(registry.getByCategory("y"), [tools[1]]);
    assert.deepEqual(registry.getByTag("t"), [tools[0], tools[1]]);
    assert.deepEqual(registry.getByTag("none"), []);
  });

  test("reports each change once, with the names that are left", () => {
    registry.register(named("a"));
    registry.register(named("b"));
    assert.equal(registry.unregister("a"), true);
    assert.equal(registry.unregister("a"), false);
    registry.clear();
    registry.clear();
    assert.deepEqual(changes, [
      { action: "registered", toolName: "a", toolNames: ["a"] },
      { action: "registered", toolName: "b", toolNames: ["a", "b"] },
      { action: "unregistered", toolName: "a", toolNames: ["b"] },
      { action: "cleared", toolName: undefined, toolNames: [] },
    ]);
  });

  test("refuses a taken name, but the same tool may be registered again", () => {
    const tool = named("a");
    registry.register(tool);
    registry.register(tool);
    assert.equal(changes.length, 1);
    assert.throws(() => registry.register(named("a")), RegistrationError);
    assert.equal(registry.get("a"), tool);
  });

  test("refuses tools that a model could not use", () => {
    for (const name of ["", "with space", "1st", "x".repeat(65), "a.b", "ü"]) {
      assert.throws(() => registry.register(named(name)), RegistrationError, name);
    }
    assert.throws(() => registry.register({ ...named("a"), description: "" }), RegistrationError);
    assert.throws(() => registry.register({ ...named("a"), schema: z.object({ at: z.date() }) }), RegistrationError);
    assert.deepEqual([registry.names(), changes], [[], []]);
  });

  test("lists are not affected by later changes", () => {
    registry.register(named("a"));
    const [names, all, described] = [registry.names(), registry.all(), registry.toAgUiTools()];
    registry.clear();
    assert.deepEqual([names, all.length, described.length], [["a"], 1, 1]);
  });

  test("describes tools in AG-UI's form, and a caller cannot change the description", () => {
    registry.register(helloTool);
    const parameters = {
      type: "object",
      properties: {
        name: { type: "string", minLength: 1, description: "Whom to greet" },
        language: { type: "string", enum: ["en", "de", "fr"], default: "en", description: "Language of the greeting" },
      },
      required: ["name"],
    };
    const expected = [{ name: "hello", description: "Greet a person by name.", parameters }];
    assert.deepEqual(registry.toAgUiTools(), expected);
    registry.toAgUiTools()[0]!.name = "other";
    assert.deepEqual(registry.toAgUiTools(), expected);
  });

  test("infers the arguments of a handler from its schema", () => {
    registry.register({
      name: "a",
      description: "A.",
      schema: z.object({ n: z.number() }),
      handler: ({ n }) => n.toFixed(),
    });
    registry.register({
      name: "b",
      description: "B.",
      schema: mini.object({ s: mini.string() }),
      handler: ({ s }) => s.trim(),
    });
    registry.register({
      name: "c",
      description: "C.",
      schema: z.object({ n: z.number() }),
      // @ts-expect-error the schema has a number
      handler: ({ n }: { n: string }) => n.trim(),
    });
    assert.equal(registry.names().length, 3);
  });
});

test("there is one registry for the page", () => {
  assert.ok(globalToolRegistry instanceof ToolRegistry);
  assert.ok(globalToolRegistry instanceof EventTarget);
});
