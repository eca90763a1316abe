import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "./clock.ts";

test("the clock of the device calls back after the delay, and not after a cancel", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const fired: string[] = [];
  systemClock.callLater(10, () => fired.push("kept"));
  systemClock.callLater(10, () => fired.push("cancelled")).cancel();
  systemClock.callLater(-5, () => fired.push("late"));
  systemClock.callLater(1e15, () => fired.push("beyond the limit of setTimeout"));
  mock.timers.tick(9);
  assert.deepEqual(fired, ["late"]);
  mock.timers.tick(1);
  assert.deepEqual(fired, ["late", "kept"]);
});

test("it has the time of day, and one that does not jump", ({ mock }) => {
  mock.timers.enable({ apis: ["Date"], now: 5_000 });
  assert.equal(systemClock.time(), 5_000);
  assert.ok(systemClock.monotonic() <= systemClock.monotonic());
});
