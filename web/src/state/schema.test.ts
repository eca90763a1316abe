import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "../api/wire.ts";
import { fieldsOf, inputText, inputValue } from "./schema.ts";

const SCHEMA: Schema = {
  type: "object",
  properties: {
    colour: { $ref: "#/$defs/Colour" },
    amount: { type: "integer", minimum: 2, description: "How much of it" },
    note: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
    ring: { type: "boolean", default: true },
    price: { anyOf: [{ type: "number" }, { type: "string" }] },
    utc_offset: { type: "object" },
  },
  required: ["colour", "amount"],
  $defs: { Colour: { enum: ["red", "green"], title: "Which colour" } },
};

const field = (name: string) => {
  const found = fieldsOf(SCHEMA)?.find((each) => each.name === name);
  assert.ok(found);
  return found;
};

test("each property is a field of its kind", () => {
  assert.deepEqual(
    fieldsOf(SCHEMA)?.map(({ name, label, kind, isRequired }) => [name, label, kind, isRequired]),
    [
      ["colour", "Which colour", "choice", true],
      ["amount", "Amount", "number", true],
      ["note", "Note", "text", false],
      ["ring", "Ring", "check", false],
      ["price", "Price", "text", false],
      ["utc_offset", "UTC offset", "json", false],
    ],
  );
  assert.equal(fieldsOf({ type: "string" }), null);
});

test("a value becomes the text of an input, and back", () => {
  const values: [string, unknown][] = [
    ["colour", "green"],
    ["amount", 5],
    ["note", "x"],
    ["ring", true],
    ["price", "12.50"],
    ["utc_offset", { a: 1 }],
  ];
  for (const [name, value] of values) assert.deepEqual(inputValue(field(name), inputText(field(name), value)), value);
});

test("an empty input is left out", () => {
  for (const name of ["colour", "amount", "note", "price", "utc_offset"])
    assert.equal(inputValue(field(name), ""), undefined);
  assert.equal(inputValue(field("ring"), ""), false);
  assert.equal(inputText(field("colour"), "blue"), "");
  assert.equal(inputText(field("note"), null), "");
});

test("references that lead nowhere or in a circle are harmless", () => {
  const circle: Schema = {
    type: "object",
    properties: { a: { $ref: "#/$defs/A" }, b: { $ref: "#/nowhere" } },
    $defs: { A: { $ref: "#/$defs/A" } },
  };
  assert.deepEqual(
    fieldsOf(circle)?.map(({ kind }) => kind),
    ["json", "json"],
  );
});
