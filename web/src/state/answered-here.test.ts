import assert from "node:assert/strict";
import { test } from "node:test";
import { useMemoryStorage } from "../testing/memory-storage.ts";
import { AnsweredHere } from "./answered-here.ts";

test("answers are remembered in all tabs of a browser, the newest ones", () => {
  const { local } = useMemoryStorage();
  for (let number = 0; number < 600; number++) new AnsweredHere().add(`r${number}`);
  const other = new AnsweredHere();
  assert.deepEqual([other.has("r599"), other.has("r100"), other.has("r99")], [true, true, false]);
  other.remove("r599");
  assert.equal(new AnsweredHere().has("r599"), false);
  local.set("callboard.answered", "{broken");
  assert.equal(other.has("r1"), false);
});

test("a forbidden storage is harmless", () => {
  useMemoryStorage({ isForbidden: true });
  new AnsweredHere().add("r1");
  assert.equal(new AnsweredHere().has("r1"), false);
});
