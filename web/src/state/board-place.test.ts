import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_FILTER } from "./board-filter.ts";
import { BoardPlace } from "./board-place.ts";

function memory(text: string | null = null) {
  let stored = text;
  return { get: () => stored, set: (_key: string, value: string | null) => (stored = value) };
}

test("a place survives a reload, for its conversation", () => {
  const storage = memory();
  const place = new BoardPlace(storage, "s1");
  assert.deepEqual([place.follows, place.skipsIdle, place.window, place.filter], [true, true, null, NO_FILTER]);
  place.filter = { ...NO_FILTER, text: "lamp", failed: true };
  place.window = { from: 1, to: 5 };
  place.active = place.opened = 7;
  place.follows = place.skipsIdle = false;
  place.keep({ seq: 3, offset: 12 });
  const again = new BoardPlace(storage, "s1");
  assert.deepEqual(again.filter, place.filter);
  assert.deepEqual(again.window, place.window);
  assert.deepEqual([again.active, again.opened, again.follows], [7, 7, false]);
  assert.deepEqual(again.anchor, { seq: 3, offset: 12 });
  const other = new BoardPlace(storage, "s2");
  assert.deepEqual([other.active, other.follows, other.filter.text, other.anchor], [0, true, "", null]);
  assert.equal(other.skipsIdle, false); // a preference, not a place
});

test("a place that cannot be read is the default", () => {
  for (const text of [
    "",
    "{broken",
    "null",
    "[]",
    '{"session":"s1","window":{"from":5,"to":"x"},"active":-1,"anchor":7}',
  ]) {
    const place = new BoardPlace(memory(text), "s1");
    assert.deepEqual([place.window, place.active, place.anchor, place.follows], [null, 0, null, true]);
  }
});
