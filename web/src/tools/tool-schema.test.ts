import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as z from "zod";
import * as mini from "zod/mini";
import { RegistrationError } from "./errors.ts";
import { parametersOf } from "./tool-schema.ts";

const address = z.object({ street: z.string() }).meta({ id: "Address", title: "Address" });
const tree = z.object({
  label: z.string(),
  get children() {
    return z.array(tree);
  },
});

function property(schema: z.ZodType): unknown {
  return (parametersOf("t", z.object({ p: schema }))["properties"] as Record<string, unknown>)["p"];
}

describe("parametersOf", () => {
  const properties: [string, z.ZodType, unknown][] = [
    ["text with a description", z.string().describe("what"), { type: "string", description: "what" }],
    ["integer without the range of JavaScript", z.int(), { type: "integer" }],
    ["integer with its own range", z.int().min(1).max(5), { type: "integer", minimum: 1, maximum: 5 }],
    ["nullable text", z.string().nullable(), { type: "string" }],
    [
      "nullable object",
      z.object({ a: z.string() }).nullable(),
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
    ],
    ["nullable enum", z.enum(["a", "b"]).nullable(), { type: "string", enum: ["a", "b"] }],
    [
      "union of types",
      z.union([z.string(), z.number(), z.null()]),
      { anyOf: [{ type: "string" }, { type: "number" }] },
    ],
    ["null alone", z.null(), { type: "null" }],
    ["default", z.enum(["a", "b"]).default("a"), { type: "string", enum: ["a", "b"], default: "a" }],
    ["list of anything", z.array(z.any()), { type: "array", items: {} }],
    [
      "tuple",
      z.tuple([z.string(), z.int()]),
      { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }], items: {}, minItems: 2, maxItems: 2 },
    ],
    [
      "a property that is named title",
      z.object({ title: z.string() }),
      { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
    ],
    [
      "data that looks like a schema",
      z.any().default({ title: "x", type: ["a", "null"] }),
      { default: { title: "x", type: ["a", "null"] } },
    ],
    [
      "discriminated union",
      z.discriminatedUnion("k", [z.object({ k: z.literal("a") }), z.object({ k: z.literal("b") })]),
      {
        anyOf: [
          { type: "object", properties: { k: { type: "string", const: "a" } }, required: ["k"] },
          { type: "object", properties: { k: { type: "string", const: "b" } }, required: ["k"] },
        ],
      },
    ],
    ["what goes in, not what comes out", z.string().transform(Number), { type: "string" }],
  ];
  for (const [what, schema, expected] of properties) test(what, () => assert.deepEqual(property(schema), expected));

  test("properties that may be left out are not required", () => {
    const schema = z.object({
      a: z.string(),
      b: z.string().nullable(),
      c: z.string().optional(),
      d: z.string().default(""),
    });
    assert.deepEqual(parametersOf("t", schema)["required"], ["a"]);
  });

  test("no arguments are an empty object", () => {
    for (const schema of [z.object({}), mini.object({})]) {
      assert.deepEqual(parametersOf("t", schema), { type: "object", properties: {} });
    }
  });

  test("shared schemas are inlined, with the description of each place", () => {
    const made = parametersOf("t", z.object({ from: address, to: address.describe("Where to") }));
    const inlined = { type: "object", properties: { street: { type: "string" } }, required: ["street"] };
    assert.deepEqual(made["properties"], { from: inlined, to: { ...inlined, description: "Where to" } });
    assert.equal("$defs" in made, false);
  });

  test("only a recursive type keeps references, and each has its definition", () => {
    const made = parametersOf("t", z.object({ tree }));
    const references = JSON.stringify(made).match(/#\/\$defs\/\w+/g) ?? [];
    assert.ok(references.length > 0);
    for (const reference of references) assert.ok(reference.replace("#/$defs/", "") in (made["$defs"] as object));
    assert.ok("$defs" in parametersOf("t", tree)); // the root itself is recursive
  });

  test("refuses what JSON cannot express, and arguments without names", () => {
    for (const schema of [
      z.object({ at: z.date() }),
      z.object({ by: z.map(z.string(), z.string()) }),
      z.string(),
      z.array(z.string()),
    ]) {
      assert.throws(() => parametersOf("t", schema), RegistrationError);
    }
  });
});
