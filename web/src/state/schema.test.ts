import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "../api/exact-integer.ts";
import type { Fields, Schema } from "../api/wire.ts";
import { choiceText, fieldsOf, inputText, inputValue, unsuitable, withDefaults } from "./schema.ts";

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

test("a large integer keeps its digits in a form", () => {
  const given = parseJson('{"colour":"red","amount":9007199254740993}') as Fields;
  const amount = field("amount");
  assert.equal(inputText(amount, given["amount"]), "9007199254740993");
  assert.equal(JSON.stringify(inputValue(amount, "9007199254740993")), "9007199254740993");
  assert.deepEqual(unsuitable(fieldsOf(SCHEMA) ?? [], given), []);
  assert.deepEqual(unsuitable(fieldsOf(SCHEMA) ?? [], { ...given, price: given["amount"] }), ["price"]);
  const [choice] =
    fieldsOf({ type: "object", properties: { id: parseJson('{"enum":[1,9007199254740993]}') as Schema } }) ?? [];
  assert.ok(choice);
  assert.equal(inputText(choice, given["amount"]), "1");
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

test("a form tells what it cannot show", () => {
  const fields = fieldsOf(SCHEMA) ?? [];
  assert.deepEqual(
    unsuitable(fields, { colour: "red", amount: 5, note: null, ring: false, utc_offset: { a: [1] } }),
    [],
  );
  assert.deepEqual(unsuitable(fields, { colour: "blue", amount: "many", ring: "yes", other: 1 }), [
    "colour",
    "amount",
    "ring",
    "other",
  ]);
  assert.deepEqual(unsuitable(fields, { ring: null }), ["ring"], "a default would replace it");
  assert.equal(unsuitable(fields, [1]), null);
});

test("values that a tool reads alike are alike", () => {
  const fields = fieldsOf(SCHEMA) ?? [];
  assert.deepEqual(withDefaults(fields, { amount: 1, note: null }), { amount: 1, ring: true });
  assert.deepEqual(withDefaults(fields, { amount: 1, ring: true }), { amount: 1, ring: true });
  assert.deepEqual(withDefaults(fields, "text"), { ring: true });
  assert.deepEqual(Object.keys(withDefaults(fields, { ring: true, amount: 1 })), ["ring", "amount"]);
});

test("a schema that refers to itself is entered as JSON", () => {
  const loop: Schema = { anyOf: [{ $ref: "#/$defs/loop" }] };
  const direct: Schema = { $ref: "#/$defs/direct" };
  const root: Schema = { type: "object", properties: { a: loop, b: direct }, $defs: { loop, direct } };
  assert.deepEqual(
    fieldsOf(root)?.map(({ kind }) => kind),
    ["json", "json"],
  );
  assert.equal(fieldsOf({ $ref: "#" }), null);
});

test("very many choices are entered as a text, and very many properties as JSON", () => {
  const choices = [...Array(10_000).keys()].map((number) => `choice ${number}`);
  assert.equal(fieldsOf({ type: "object", properties: { a: { type: "string", enum: choices } } })?.[0]?.kind, "text");
  const properties = Object.fromEntries(choices.map((name): [string, Schema] => [name, { type: "string" }]));
  assert.equal(fieldsOf({ type: "object", properties }), null);
});

test("properties may have the names of what every object has", () => {
  const schema = JSON.parse(
    '{"type":"object","properties":{"constructor":{"type":"string"},"__proto__":{"default":{"a":1}},"b":{"$ref":"#/constructor"}}}',
  ) as Schema;
  const fields = fieldsOf(schema) ?? [];
  assert.deepEqual(
    fields.map(({ name }) => name),
    ["constructor", "__proto__", "b"],
  );
  assert.deepEqual(Object.entries(withDefaults(fields, {})), [["__proto__", { a: 1 }]]);
  const given = JSON.parse('{"constructor":"x","__proto__":{"a":2}}') as Fields;
  assert.deepEqual(unsuitable(fields, given), []);
  assert.deepEqual(Object.keys(withDefaults(fields, given)), ["constructor", "__proto__"]);
});

test("choices of any type can be told apart", () => {
  assert.deepEqual(["red", 1, null, true, { a: [1] }, parseJson("9007199254740993"), "a\u202eb"].map(choiceText), [
    "red",
    "1",
    "null",
    "true",
    '{"a":[1]}',
    "9007199254740993",
    "a⟨U+202E⟩b",
  ]);
});
