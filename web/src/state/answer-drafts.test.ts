import assert from "node:assert/strict";
import { test } from "node:test";
import { useMemoryStorage } from "../testing/memory-storage.ts";
import { AnswerDrafts } from "./answer-drafts.ts";

test("a draft survives a reload until it is forgotten", () => {
  const { session } = useMemoryStorage();
  const draft = { mode: "edit", asJson: true, text: "{ unfinished" } as const;
  new AnswerDrafts().set("r1", draft);
  assert.deepEqual(new AnswerDrafts().get("r1"), draft);
  assert.equal(new AnswerDrafts().get("r2"), null);
  new AnswerDrafts().set("r1", null);
  assert.equal(session.size, 0);
});

test("a draft that is broken or too long is not restored", () => {
  const { session } = useMemoryStorage();
  session.set("callboard.answer.r1", "{broken");
  session.set("callboard.answer.r2", '{"mode": "other"}');
  const drafts = new AnswerDrafts();
  drafts.set("r3", { mode: "edit", asJson: false, value: "x".repeat(200_000) });
  assert.deepEqual(
    ["r1", "r2", "r3"].map((id) => drafts.get(id)),
    [null, null, null],
  );
});
