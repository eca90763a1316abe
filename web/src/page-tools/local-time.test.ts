import assert from "node:assert/strict";
import { test } from "node:test";
import { ATTEMPT } from "../testing/page-globals.ts";
import { localTimeTool, withOffset } from "./local-time.ts";

test("the time has the offset of the device", () => {
  const time = new Date("2026-11-16T12:00:00.500Z");
  assert.equal(withOffset(time, 60), "2026-11-16T13:00:00+01:00");
  assert.equal(withOffset(time, -210), "2026-11-16T08:30:00-03:30");
  assert.equal(withOffset(time, 345), "2026-11-16T17:45:00+05:45");
  assert.equal(Date.parse(withOffset(time)), time.getTime() - 500);
});

test("the model gets the time for programs and for people", async () => {
  const result = JSON.parse(await localTimeTool.handler({}, ATTEMPT)) as Record<string, string>;
  assert.ok(Math.abs(Date.parse(result["time"] ?? "") - Date.now()) < 5_000);
  assert.ok(result["text"] && result["time_zone"]);
});
