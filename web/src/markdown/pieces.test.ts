import assert from "node:assert/strict";
import { test } from "node:test";
import { highlight } from "./highlight.ts";
import { piecesOf } from "./pieces.ts";

test("highlighted code has the same text", () => {
  const code = "if (a < b && \"<script>\" !== `x`) { /* & */ return 'q'; }\n";
  for (const language of ["javascript", "python", "xml", "unknown"]) {
    assert.equal(
      highlight(code, language)
        .map(({ text }) => text)
        .join(""),
      code,
      language,
    );
  }
  assert.ok(
    highlight(code, "javascript").some(({ className, text }) => className === "hljs-keyword" && text === "return"),
  );
});

test("pieces have the innermost class", () => {
  assert.deepEqual(piecesOf('a<span class="x">b<span class="y">c</span>&lt;</span>'), [
    { text: "a", className: "" },
    { text: "b", className: "x" },
    { text: "c", className: "y" },
    { text: "<", className: "x" },
  ]);
});
