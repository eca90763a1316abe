import assert from "node:assert/strict";
import { test } from "node:test";
import { isLink, shapeOf } from "./shape.ts";

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
