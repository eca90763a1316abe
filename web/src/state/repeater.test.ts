import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Problem } from "../api/problem.ts";
import { patience, Repeater } from "./repeater.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

test("a request is repeated after a pause, or at once over a new connection, until the server responds", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const repeater = new Repeater();
    let [attempts, failures] = [0, 0];
    const sent = repeater.send(
      async (signal) => {
        if (++attempts === 4) return "done";
        return attempts === 3 ? aborted(signal) : Promise.reject(new TypeError("Failed to fetch"));
      },
      { isWanted: () => true, onFailure: () => failures++ },
    );
    await settled();
    repeater.hurry();
    await settled();
    assert.equal(attempts, 2, "at once");
    mock.timers.tick(1_000);
    await settled();
    assert.equal(attempts, 3);
    mock.timers.tick(5_000); // without a response
    await settled();
    mock.timers.tick(1_000);
    assert.equal(await sent, "done");
    assert.equal(failures, 3);
  } finally {
    mock.timers.reset();
  }
});

test("a request without a response is repeated over a new connection, unless it is fresh", async () => {
  const now = mock.method(performance, "now", () => 0);
  const repeater = new Repeater();
  let attempts = 0;
  const sent = repeater.send(async (signal) => (++attempts === 2 ? "done" : aborted(signal)), { isWanted: () => true });
  repeater.hurry();
  await settled();
  assert.equal(attempts, 1);
  now.mock.mockImplementation(() => 1_500);
  repeater.hurry();
  assert.equal(await sent, "done");
  now.mock.restore();
});

test("slow connections get more time", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 9].map(patience), [5_000, 5_000, 5_000, 10_000, 20_000, 20_000]);
});

test("a response that is a problem is thrown, unless it is to be repeated", async () => {
  const repeater = new Repeater();
  const refuse = (status: number) => async () => {
    throw new Problem(status, "code", "No.");
  };
  await assert.rejects(repeater.send(refuse(404), { isWanted: () => true }), Problem);
  let isWanted = true;
  const isRetried = () => {
    isWanted = false;
    return true;
  };
  assert.equal(await repeater.send(refuse(503), { isWanted: () => isWanted, isRetried }), undefined);
});

test("a request that is no longer of use is not repeated", async () => {
  const repeater = new Repeater();
  let count = 0;
  const failing = async () => {
    count++;
    throw new TypeError("Failed to fetch");
  };
  assert.equal(await repeater.send(failing, { isWanted: () => count === 0 }), undefined);
  assert.equal(count, 1);
});
