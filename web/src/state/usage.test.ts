import assert from "node:assert/strict";
import { test } from "node:test";
import { compact, costText, dollars, NO_USAGE, sumUsage, usageLine } from "./usage.ts";

const usage = { ...NO_USAGE, requests: 2, input_tokens: 1_000, output_tokens: 234, cost: 0.5 };

test("usages are added, and a cost is known if that of any is", () => {
  const unpriced = { ...NO_USAGE, requests: 1, input_tokens: 10, unpriced_requests: 1 };
  assert.deepEqual(sumUsage([usage, null, unpriced, undefined]), {
    ...usage,
    requests: 3,
    input_tokens: 1_010,
    unpriced_requests: 1,
  });
  assert.equal(sumUsage([unpriced, unpriced]).cost, null);
  assert.deepEqual(sumUsage([]), NO_USAGE);
});

test("small costs keep two digits that count", () => {
  assert.equal(dollars(12.345, "en"), "$12.35");
  assert.equal(dollars(0.5, "en"), "$0.50");
  assert.equal(dollars(0.0123, "en"), "$0.012");
  assert.equal(dollars(0.000045, "en"), "$0.000045");
  assert.equal(dollars(0, "en"), "$0.00");
});

test("an unknown cost is never shown as an amount", () => {
  assert.equal(costText(NO_USAGE, "en"), "");
  assert.equal(costText(usage, "en"), "≈ $0.50");
  assert.equal(costText({ ...usage, unpriced_requests: 1 }, "en"), "≥ $0.50");
  assert.equal(usageLine(usage, "en"), "1.2K tokens · ≈ $0.50");
  assert.equal(usageLine({ ...usage, cost: null }, "en"), "1.2K tokens");
});

test("large numbers are short", () => {
  assert.equal(compact(999, "en"), "999");
  assert.equal(compact(1_500_000, "en"), "1.5M");
});
