import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "./manual-clock.ts";

test("timers fire in order, each at its own time, unless they are cancelled", async () => {
  const clock = new ManualClock(1_000);
  const fired: [string, number][] = [];
  const note = (name: string) => () => void fired.push([name, clock.monotonic()]);
  clock.callLater(30, note("late"));
  clock.callLater(10, note("early"));
  clock.callLater(20, note("never")).cancel();
  await clock.advance(25);
  assert.deepEqual([fired, clock.time(), clock.pending], [[["early", 10]], 1_025, 1]);
  await clock.advance(5);
  assert.deepEqual(fired, [
    ["early", 10],
    ["late", 30],
  ]);
});
