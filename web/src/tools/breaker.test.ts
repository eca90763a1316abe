import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Breaker, BreakerOpen } from "./breaker.ts";
import { DEFAULT_BREAKER_POLICY } from "./types.ts";

const POLICY = { failureThreshold: 2, recoveryTime: 1_000, successThreshold: 2 };

function opened(): Breaker {
  const breaker = new Breaker(POLICY);
  breaker.failed("a", "transient", 0);
  breaker.failed("b", "transient", 0);
  assert.equal(breaker.state, "open");
  return breaker;
}

describe("Breaker", () => {
  test("has the defaults of the server", () => {
    assert.deepEqual(DEFAULT_BREAKER_POLICY, { failureThreshold: 5, recoveryTime: 60_000, successThreshold: 2 });
  });

  test("opens after failures in a row, and a success between them starts the count again", () => {
    const breaker = new Breaker(POLICY);
    breaker.failed("a", "execution", 0);
    breaker.succeeded("b");
    breaker.failed("c", "execution", 0);
    assert.deepEqual([breaker.state, breaker.admit("d", 0)], ["closed", undefined]);
    breaker.failed("d", "timeout", 0);
    assert.equal(breaker.state, "open");
  });

  test("does not count what says nothing about the tool", () => {
    const breaker = new Breaker(POLICY);
    for (const category of ["validation", "cancelled", "permanent"] as const) {
      for (let i = 0; i < 5; i++) breaker.failed("a", category, 0);
    }
    assert.equal(breaker.state, "closed");
  });

  test("refuses until the recovery time has passed, with the time that is left", () => {
    const breaker = opened();
    assert.deepEqual([breaker.admit("c", 400), breaker.refusedFor(400)], [600, 600]);
    assert.deepEqual(
      [breaker.refusedFor(1_000), breaker.admit("c", 1_000), breaker.state],
      [0, undefined, "half_open"],
    );
  });

  test("half-open lets through as many probes as successes are needed, then closes", () => {
    const breaker = opened();
    assert.deepEqual(
      ["c", "d", "e"].map((id) => breaker.admit(id, 1_000)),
      [undefined, undefined, 1_000],
    );
    breaker.succeeded("c");
    assert.deepEqual([breaker.state, breaker.admit("e", 1_000)], ["half_open", 1_000]);
    breaker.succeeded("d");
    assert.deepEqual([breaker.state, breaker.admit("e", 1_000)], ["closed", undefined]);
  });

  test("a failed probe opens it again, and its successes are forgotten", () => {
    const breaker = opened();
    breaker.admit("c", 1_000);
    breaker.succeeded("c");
    breaker.admit("d", 1_000);
    breaker.failed("d", "execution", 1_500);
    assert.deepEqual([breaker.state, breaker.admit("e", 1_600)], ["open", 900]);
    assert.deepEqual(
      ["f", "g", "h"].map((id) => breaker.admit(id, 2_500)),
      [undefined, undefined, 1_000],
    );
  });

  test("a cancelled probe makes room for another", () => {
    const breaker = opened();
    breaker.admit("c", 1_000);
    breaker.admit("d", 1_000);
    breaker.failed("c", "cancelled", 1_000);
    assert.deepEqual([breaker.state, breaker.admit("e", 1_000)], ["half_open", undefined]);
  });

  test("attempts from before it opened change nothing", () => {
    const breaker = opened();
    breaker.succeeded("old");
    assert.equal(breaker.state, "open");
    breaker.admit("c", 1_000);
    breaker.succeeded("old");
    breaker.failed("older", "execution", 1_000);
    assert.equal(breaker.state, "half_open");
  });
});

test("BreakerOpen says when to try again, and is not retried by itself", () => {
  const error = new BreakerOpen("pay", 1_500);
  assert.deepEqual([error.category, error.retryable, error.retryAfter], ["transient", false, 1_500]);
  assert.match(error.message, /pay .* 2 seconds/);
});
