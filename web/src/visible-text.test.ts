import assert from "node:assert/strict";
import test from "node:test";
import { visibleLines, visibleText } from "./visible-text.ts";

test("characters that cannot be seen are named", () => {
  assert.equal(visibleText("pay\u202Eyap"), "pay⟨U+202E⟩yap");
  assert.equal(visibleText("a\u200Bb\u0000c\u2066"), "a⟨U+200B⟩b⟨U+0000⟩c⟨U+2066⟩");
  assert.equal(visibleText("a\u{E0041}b"), "a⟨U+E0041⟩b");
  assert.equal(visibleText("\uD800"), "⟨U+D800⟩");
  assert.equal(visibleText("one\ntwo\r\nthree"), "one two three");
});

test("lines stay lines", () => {
  assert.equal(visibleLines("one\r\n\ttwo\nthree\rfour\u2028"), "one\r\n\ttwo\nthree⟨U+000D⟩four⟨U+2028⟩");
  assert.equal(visibleLines("pay\u202Eyap\u200B"), "pay⟨U+202E⟩yap⟨U+200B⟩");
});

test("letters of all languages stay as they are", () => {
  for (const text of ["Zürich", "北京", "שלום", "مرحبا", "🙂", "é", "100 %"]) {
    assert.equal(visibleText(text), text);
  }
});

test("long texts are cut, between characters", () => {
  assert.equal(visibleText("abcdef", 3), "abc…");
  assert.equal(visibleText("🙂🙂🙂", 2), "🙂🙂…");
  assert.ok(visibleText("x".repeat(10_000_000)).length < 510);
  assert.equal(visibleText(undefined), "");
  assert.equal(visibleText(12), "12");
});
