import assert from "node:assert/strict";
import { test } from "node:test";
import { blockName, blockValue, fitsTable, isLink, isMarkdown, shapeOf } from "./shape.ts";

test("a value is shown by its shape", () => {
  const kinds = (...values: unknown[]) => values.map((value) => shapeOf(value).kind);
  assert.deepEqual(kinds(null, undefined, {}), ["nothing", "nothing", "nothing"]);
  assert.deepEqual(kinds("a", 5, false, ["a", "b"]), ["text", "text", "text", "text"]);
  assert.deepEqual(
    kinds({ a: 1 }, [
      { a: 1, b: 2 },
      { a: 3, b: null },
    ]),
    ["fields", "table"],
  );
  assert.deepEqual(kinds([{ a: 1 }, { b: 2 }], [{ a: {} }, { a: {} }], [[1], [2]], []), [
    "tree",
    "tree",
    "tree",
    "tree",
  ]);
});

test("only addresses of the web and of mailboxes are links", () => {
  for (const good of ["https://example.org/a?b=c", "http://example.org", "mailto:ada@example.org"])
    assert.equal(isLink(good), true, good);
  for (const bad of [
    "javascript:alert(1)",
    "data:text/html,x",
    " https://example.org",
    "https://",
    "file:///etc/passwd",
    "https://a b",
  ]) {
    assert.equal(isLink(bad), false, bad);
  }
});

test("content is a list of blocks that are not all texts", () => {
  const image = { type: "image", mimeType: "image/png", data: "AAAA" };
  const link = { type: "resource_link", name: "readme", uri: "https://a.example/" };
  const file = { type: "resource", resource: { uri: "file:///a", mimeType: "text/plain", text: "inside" } };
  const binary = { type: "resource", resource: { uri: "file:///b", mimeType: "a/b", blob: "AAAA" } };
  const picture = { type: "resource", resource: { uri: "file:///c", mimeType: "image/png", blob: "AAAA" } };
  assert.equal(shapeOf([{ type: "text", text: "a" }, image]).kind, "content");
  assert.equal(shapeOf([image, image]).kind, "content");
  assert.equal(shapeOf([{ type: "text", text: "a" }]).kind, "tree");
  assert.equal(shapeOf([image, { type: "other" }]).kind, "tree");
  assert.deepEqual([image, link, file, binary, picture].map(blockValue), [
    image,
    "https://a.example/",
    "inside",
    "a/b",
    "data:image/png;base64,AAAA",
  ]);
  assert.deepEqual([image, link, file].map(blockName), ["", "readme", "file:///a"]);
  assert.equal(shapeOf({ type: "audio", mimeType: "audio/wav", data: "AAAA" }).kind, "audio");
  assert.equal(shapeOf({ type: "audio", mimeType: "text/html", data: "AAAA" }).kind, "fields");
  assert.equal(shapeOf({ type: "audio", mimeType: 'audio/wav" x="', data: "AAAA" }).kind, "fields");
});

test("images are data of four types, or files of the page's own server", () => {
  const kind = (value: unknown) => shapeOf(value, "https://board.example").kind;
  for (const type of ["png", "jpeg", "gif", "webp"]) {
    assert.equal(kind(`data:image/${type};base64,AAAA`), "image", type);
    assert.equal(kind({ type: "image", mimeType: `image/${type}`, data: "AAAA" }), "image", type);
  }
  assert.equal(kind("https://board.example/files/a.png?b=c"), "image");
  assert.equal(kind("https://other.example/a.png"), "link");
  assert.equal(kind("https://board.example/a.svg"), "link");
  assert.equal(shapeOf("https://board.example/a.png").kind, "link", "without an origin");
  for (const bad of [
    "data:image/svg+xml;base64,AAAA",
    "data:text/html;base64,AAAA",
    "data:image/png,<svg onload=x>",
    'data:image/png;base64,AAAA" onerror="x',
    "DATA:image/png;base64,AAAA",
  ]) {
    assert.equal(kind(bad), "text", bad);
  }
  assert.equal(kind({ type: "image", mimeType: "image/svg+xml", data: "AAAA" }), "fields");
  assert.equal(kind({ type: "image", mimeType: "image/png", data: "\"'>" }), "fields");
});

test("only a text with signs of Markdown is formatted", () => {
  for (const text of [
    "# Title\n\nText",
    "a\n```js\nb\n```",
    "- one\n- two",
    "1. one\n2. two",
    "| a | b |\n| --- | --- |\n| 1 | 2 |",
    "see [this](https://example.org)",
    "it is **bold**",
  ]) {
    assert.equal(isMarkdown(text), true, text);
  }
  for (const text of [
    "plain",
    "a - b\n- c",
    "# comment\nls",
    "2 ** 3 ** 4",
    "[x](javascript:y)",
    "1.5\n2.5",
    "---",
    "a_b_c",
  ])
    assert.equal(isMarkdown(text), false, text);
});

/** A long list that counts how often its entries are read. */
function counting(entry: unknown): { list: unknown[]; reads: () => number } {
  let reads = 0;
  const list = new Proxy(Array.from({ length: 200_000 }).fill(entry), {
    get: (target, name) => (typeof name === "string" && /^\d+$/.test(name) && reads++, Reflect.get(target, name)),
  });
  return { list, reads: () => reads };
}

test("only the first entries of a long list are looked at", () => {
  const table = counting({ n: 1, text: "" });
  assert.equal(shapeOf(table.list).kind, "table");
  const numbers = counting(1);
  assert.equal(shapeOf(numbers.list).kind, "tree");
  assert.ok(table.reads() < 500 && numbers.reads() < 500);
  assert.equal(shapeOf("x".repeat(10_000_000)).kind, "text");
  const columns = ["n", "text"];
  assert.deepEqual([fitsTable({ n: 1, text: "" }, columns), fitsTable({ other: 1 }, columns)], [true, false]);
});
