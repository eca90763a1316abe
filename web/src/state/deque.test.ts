import assert from "node:assert/strict";
import { test } from "node:test";
import { Deque } from "./deque.ts";

function filled(): Deque<number> {
  const deque = new Deque<number>();
  for (const item of [5, 6, 7]) deque.addNewest(item);
  for (const item of [4, 3]) deque.addOldest(item);
  return deque;
}

test("items are in order, whichever end they were added at", () => {
  const deque = filled();
  assert.deepEqual([...deque], [3, 4, 5, 6, 7]);
  assert.equal(deque.first, 3);
  assert.equal(deque.last, 7);
  assert.equal(deque.at(9), undefined);
  assert.equal(deque.at(-1), undefined);
});

test("the oldest items are removed first", () => {
  const deque = filled();
  deque.dropOldest(3);
  assert.deepEqual([...deque], [6, 7]);
  deque.addOldest(5);
  assert.deepEqual([...deque], [5, 6, 7]);
  deque.dropOldest(10);
  assert.equal(deque.length, 0);
  assert.equal(deque.first, undefined);
});

test("a search finds the first item that is not before", () => {
  const deque = filled();
  assert.equal(
    deque.search((item) => item < 5),
    2,
  );
  assert.equal(
    deque.search((item) => item < 0),
    0,
  );
  assert.equal(
    deque.search((item) => item < 99),
    5,
  );
});
