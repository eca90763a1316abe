import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ToolError, type ToolErrorOptions } from "./errors.ts";
import { backoff, decide } from "./retry.ts";
import { DEFAULT_RETRY_CONFIG } from "./types.ts";

function decision(options: ToolErrorOptions, { attempt = 1, idempotent = true, chance = 0.5 } = {}) {
  const made = decide(DEFAULT_RETRY_CONFIG, new ToolError("no", options), { attempt, idempotent, chance });
  return made.retry ? made.delayMs : made.reason;
}

test("the defaults are those of the server", () => {
  assert.deepEqual(DEFAULT_RETRY_CONFIG, {
    maxAttempts: 3,
    baseDelayMs: 1_000,
    maxDelayMs: 30_000,
    multiplier: 2,
    retryOn: ["transient", "timeout"],
  });
});

describe("decide", () => {
  test("retries the listed categories of an idempotent tool, while attempts are left", () => {
    assert.equal(decision({ category: "transient" }), 500);
    assert.equal(decision({ category: "timeout" }, { attempt: 2 }), 1_000);
    assert.equal(decision({ category: "transient" }, { attempt: 3 }), "no attempts are left");
    for (const category of ["validation", "execution", "permanent", "unknown"] as const) {
      assert.equal(decision({ category }), `${category} is not retried`);
    }
  });

  test("retries another tool only when the error says that nothing was done", () => {
    assert.match(String(decision({ category: "transient" }, { idempotent: false })), /not idempotent/);
    assert.equal(decision({ category: "transient", retryable: true }, { idempotent: false }), 500);
    assert.equal(decision({ category: "execution", retryable: true }, { idempotent: false }), 500);
  });

  test("does not retry when the error says that it will not help", () => {
    assert.match(String(decision({ category: "transient", retryable: false })), /will not help/);
  });

  test("waits for retryAfter, at least, and gives up where that is too long", () => {
    assert.equal(decision({ category: "transient", retryAfter: 7_000 }), 7_000);
    assert.equal(decision({ category: "transient", retryAfter: 100 }), 500);
    assert.match(String(decision({ category: "transient", retryAfter: 30_001 })), /later than the policy waits/);
  });
});

test("backoff has full jitter below a limit that doubles, up to the maximum", () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 1_000].map((attempt) => backoff(DEFAULT_RETRY_CONFIG, attempt, 1));
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  assert.equal(backoff(DEFAULT_RETRY_CONFIG, 3, 0), 0);
  assert.equal(backoff(DEFAULT_RETRY_CONFIG, 3, 0.25), 1_000);
});
