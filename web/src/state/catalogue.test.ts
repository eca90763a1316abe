import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToolEntry } from "../api/tool-wire.ts";
import { byNamespace, catalogueTool, facetsOf, filterTools, isFiltered, NO_FILTERS } from "./catalogue.ts";

const entry = (name: string, more: Partial<ToolEntry> = {}): ToolEntry => ({ name, description: "", ...more });
const tools = [
  catalogueTool(entry("send_payment", { namespace: "shop", mode: "human", tags: ["money"], title: "Pay" })),
  catalogueTool(entry("payments", { namespace: "shop", mode: "inline", group: "lists" })),
  catalogueTool(
    entry("clock", {
      namespace: "time",
      description: "Tells when a PAYMENT is due",
      gate: { name: "beta", open: true },
    }),
  ),
  catalogueTool(entry("copy", { tags: ["page"] }), true),
];
const names = (found: readonly { name: string }[]) => found.map(({ name }) => name);

test("without filters, tools are in the order of namespace and name", () => {
  assert.deepEqual(names(filterTools(tools, NO_FILTERS)), ["copy", "payments", "send_payment", "clock"]);
});

test("built-in tools are the last ones", () => {
  const builtIn = catalogueTool(entry("task_list", { namespace: "callboard" }));
  assert.equal(filterTools([builtIn, ...tools], NO_FILTERS).at(-1), builtIn);
});

test("a search finds names first, then other texts, whatever the case", () => {
  const found = filterTools(tools, { ...NO_FILTERS, text: "Payment" });
  assert.deepEqual(names(found), ["payments", "send_payment", "clock"]);
  assert.deepEqual(names(filterTools(tools, { ...NO_FILTERS, text: "payment due" })), ["clock"]);
  assert.deepEqual(filterTools(tools, { ...NO_FILTERS, text: "nothing like it" }), []);
});

test("filters are combined", () => {
  assert.deepEqual(names(filterTools(tools, { ...NO_FILTERS, namespace: "shop", mode: "human" })), ["send_payment"]);
  assert.deepEqual(names(filterTools(tools, { ...NO_FILTERS, tag: "page" })), ["copy"]);
  assert.deepEqual(names(filterTools(tools, { ...NO_FILTERS, gate: "beta" })), ["clock"]);
  assert.deepEqual(names(filterTools(tools, { ...NO_FILTERS, group: "lists" })), ["payments"]);
});

test("facets have the numbers of their tools, and none without a choice", () => {
  const facets = facetsOf(tools);
  assert.deepEqual(facets.namespace, [
    ["browser", 1],
    ["shop", 2],
    ["time", 1],
  ]);
  assert.deepEqual(facets.gate, [["beta", 1]]);
  assert.deepEqual(facetsOf(tools.slice(0, 2)).namespace, []);
  assert.deepEqual(facetsOf([]).tag, []);
});

test("a tool of the page does not hide the server's tool of the same name", () => {
  assert.equal(catalogueTool(entry("copy"), true).id, "browser:copy");
  assert.equal(catalogueTool(entry("copy")).id, "copy");
});

test("namespaces that follow each other are grouped", () => {
  const groups = byNamespace(filterTools(tools, NO_FILTERS));
  assert.deepEqual(
    groups.map(([namespace, members]) => [namespace, members.length]),
    [
      ["browser", 1],
      ["shop", 2],
      ["time", 1],
    ],
  );
});

test("filters are set if any is", () => {
  assert.equal(isFiltered(NO_FILTERS), false);
  assert.equal(isFiltered({ ...NO_FILTERS, tag: "a" }), true);
});

test("ten thousand tools are filtered in a fraction of a second", () => {
  const many = [...Array(10_000).keys()].map((number) =>
    catalogueTool(entry(`tool_${number}`, { description: "x".repeat(500), namespace: `n${number % 50}` })),
  );
  const began = performance.now();
  const found = filterTools(many, { ...NO_FILTERS, text: "tool_99 x" });
  assert.equal(found.length, 111);
  assert.ok(performance.now() - began < 1_000);
});
