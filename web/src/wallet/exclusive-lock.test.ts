import assert from "node:assert/strict";
import test from "node:test";
import { memoryLocks } from "../testing/memory-locks.ts";
import { ExclusiveLock } from "./exclusive-lock.ts";

test("one holder has the lock, and the next waits for it", async () => {
  const locks = memoryLocks();
  const [one, other] = [new ExclusiveLock("x", locks), new ExclusiveLock("x", locks)];
  assert.ok(await one.take());
  assert.ok(await one.take(), "it is held already");
  assert.equal(await other.take(), false);
  const waiting = other.wait(new AbortController().signal);
  one.release();
  assert.ok(!one.isHeld);
  assert.ok(await waiting);
  assert.equal(await one.take(), false);
});

test("waiting ends with its signal", async () => {
  const locks = memoryLocks();
  const [one, other] = [new ExclusiveLock("x", locks), new ExclusiveLock("x", locks)];
  await one.take();
  const controller = new AbortController();
  const waiting = other.wait(controller.signal);
  controller.abort();
  assert.equal(await waiting, false);
  assert.ok(!other.isHeld);
});

test("a browser without locks lets the page continue", async () => {
  const lock = new ExclusiveLock("x", null);
  assert.ok(await lock.take());
  lock.release();
  assert.ok(!lock.isHeld);
});
