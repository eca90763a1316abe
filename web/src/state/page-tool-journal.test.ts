import assert from "node:assert/strict";
import { test } from "node:test";
import { useMemoryStorage } from "../testing/memory-storage.ts";
import { PageToolJournal } from "./page-tool-journal.ts";

test("a call that never began differs from one whose end is unknown and from one that ended", () => {
  useMemoryStorage();
  const journal = new PageToolJournal();
  assert.deepEqual(journal.read("r1"), { hasBegun: false, outcome: null });
  journal.begin("r1");
  assert.deepEqual(new PageToolJournal().read("r1"), { hasBegun: true, outcome: null });
  journal.end("r1", { answer: { a: 1 } });
  assert.deepEqual(new PageToolJournal().read("r1"), { hasBegun: true, outcome: { answer: { a: 1 } } });
});

test("an outcome that is null is an outcome", () => {
  useMemoryStorage();
  const journal = new PageToolJournal();
  journal.end("r1", { answer: null });
  assert.deepEqual(journal.read("r1").outcome, { answer: null });
});

test("a long outcome is not stored, and its call has begun", () => {
  useMemoryStorage();
  const journal = new PageToolJournal();
  journal.end("r1", { answer: "x".repeat(200_000) });
  assert.deepEqual(journal.read("r1"), { hasBegun: true, outcome: null });
});

test("old entries are removed", () => {
  const { local } = useMemoryStorage();
  const journal = new PageToolJournal();
  journal.begin("old", 0);
  for (let number = 0; number < 150; number++) journal.begin(`r${number}`, 8 * 86_400_000 + number);
  assert.equal(journal.read("old").hasBegun, false);
  assert.equal(journal.read("r149").hasBegun, true);
  assert.ok(local.size <= 101);
});

test("damaged entries and a forbidden storage do no harm", () => {
  const { local } = useMemoryStorage();
  local.set("callboard.page-tool.r1", "{");
  local.set("callboard.page-tools", "{");
  const journal = new PageToolJournal();
  assert.deepEqual(journal.read("r1"), { hasBegun: true, outcome: null });
  journal.begin("r2");
  assert.ok(journal.isLasting);
  useMemoryStorage({ isForbidden: true });
  journal.begin("r3");
  assert.ok(!journal.isLasting);
  assert.equal(journal.read("r3").hasBegun, false);
});
