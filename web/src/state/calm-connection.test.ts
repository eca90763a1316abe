import assert from "node:assert/strict";
import { test } from "node:test";
import { calm, type CalmConnection } from "./calm-connection.ts";
import type { Connection } from "./session-listener.ts";

const connection = (state: Connection["state"], silence = 0): Connection => ({ state, delay: 0, silence });
const connected: CalmConnection = { shown: connection("connected"), since: null };

test("a short cut is not shown, and a long one after two seconds", () => {
  const first = calm(connected, connection("waiting"), 1_000);
  assert.deepEqual([first.next.shown.state, first.wait], ["connected", 2_000]);
  const second = calm(first.next, connection("reconnecting"), 1_500);
  assert.deepEqual([second.next.shown.state, second.wait], ["connected", 1_500]);
  assert.equal(calm(second.next, connection("connected"), 2_000).next.since, null);
  assert.equal(calm(second.next, connection("reconnecting"), 3_000).next.shown.state, "reconnecting");
});

test("a connection that had been silent for long is shown as lost at once", () => {
  assert.equal(calm(connected, connection("waiting", 4_500), 9_000).next.shown.state, "waiting");
});

test("the first connection is shown while it is made", () => {
  const before: CalmConnection = { shown: connection("connecting"), since: null };
  assert.equal(calm(before, connection("connecting"), 0).next.shown.state, "connecting");
});
