import assert from "node:assert/strict";
import { test } from "node:test";
import { Gestures, isNotAllowed } from "./gestures.ts";

test("a click that is allowed lets the call continue", async () => {
  const gestures = new Gestures();
  const seen: (string | undefined)[] = [];
  gestures.addEventListener("change", () => seen.push(gestures.waitingFor("c1")));
  const waiting = gestures.request("c1", "copy", new AbortController().signal);
  gestures.decide("other", true);
  gestures.decide("c1", true);
  await waiting;
  assert.deepEqual(seen, ["copy", undefined]);
});

test("a click that is refused is an error for the model", async () => {
  const gestures = new Gestures();
  const waiting = gestures.request("c1", "notify", new AbortController().signal);
  gestures.decide("c1", false);
  await assert.rejects(waiting, { category: "permanent", message: /refused/ });
  assert.equal(gestures.waitingFor("c1"), undefined);
});

test("a cancelled call waits no longer", async () => {
  const gestures = new Gestures();
  const call = new AbortController();
  const waiting = gestures.request("c1", "copy", call.signal);
  call.abort(new Error("cancelled"));
  await assert.rejects(waiting, /cancelled/);
  await assert.rejects(gestures.request("c1", "copy", call.signal), /cancelled/);
  assert.equal(gestures.waitingFor("c1"), undefined);
});

test("only a refusal of the browser asks for a click", () => {
  assert.ok(isNotAllowed(new DOMException("no", "NotAllowedError")));
  assert.ok(!isNotAllowed(new Error("no")));
  assert.ok(!isNotAllowed("NotAllowedError"));
});
