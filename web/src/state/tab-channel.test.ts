import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, TabChannel } from "./tab-channel.ts";

test("a change is shared with the other tabs, and unknown messages are ignored", async () => {
  const heard: Change[] = [];
  const mine: Change[] = [];
  const arrived = Promise.withResolvers<void>();
  const one = new TabChannel((change) => mine.push(change));
  const other = new TabChannel((change) => {
    heard.push(change);
    arrived.resolve();
  });
  const foreign = new BroadcastChannel("callboard");
  foreign.postMessage({ unknown: true });
  one.share("sessions");
  await arrived.promise;
  for (const each of [one, other, foreign]) each.close();
  assert.deepEqual([heard, mine], [["sessions"], ["sessions"]]);
});

test("changes that follow each other are shared once, also with this tab", async () => {
  const heard: Change[] = [];
  const shared = Promise.withResolvers<void>();
  const one = new TabChannel((change) => {
    heard.push(change);
    shared.resolve();
  });
  for (let number = 0; number < 5; number++) one.share("requests");
  await shared.promise;
  one.close();
  assert.deepEqual(heard, ["requests"]);
});
