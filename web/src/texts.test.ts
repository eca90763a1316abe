import assert from "node:assert/strict";
import { test } from "node:test";
import { texts, translate, viewTexts } from "./texts.ts";

test("texts can be replaced, also those of views that are loaded later", () => {
  const before = texts.send;
  translate({ send: "Senden", language: "de" }, { inbox: { title: "Posteingang" } });
  assert.deepEqual([texts.send, texts.language], ["Senden", "de"]);
  assert.deepEqual(viewTexts("inbox", { title: "Inbox", next: "Next" }), { title: "Posteingang", next: "Next" });
  assert.deepEqual(viewTexts("tools", { title: "Tools" }), { title: "Tools" });
  translate({ send: before, language: "en" });
});
