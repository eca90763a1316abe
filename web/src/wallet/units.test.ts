import assert from "node:assert/strict";
import test from "node:test";
import { ETHER, formatUnits, GWEI, MAX_UINT256, parseUnits, readQuantity, toQuantity } from "./units.ts";

/** Numbers of all sizes, the same in every run. */
function* numbers(count: number): Generator<bigint> {
  let seed = 88172645463325252n;
  for (let at = 0; at < count; at++) {
    seed ^= BigInt.asUintN(64, seed << 13n);
    seed ^= seed >> 7n;
    seed ^= BigInt.asUintN(64, seed << 17n);
    const wide = (seed << 192n) | (seed << 128n) | (seed << 64n) | seed;
    yield wide & ((1n << BigInt(1 + (at % 256))) - 1n);
  }
}

test("amounts are written in full", () => {
  assert.equal(formatUnits(10n ** 16n, ETHER), "0.01");
  assert.equal(formatUnits(1n, ETHER), "0.000000000000000001");
  assert.equal(formatUnits(0n, ETHER), "0");
  assert.equal(formatUnits(10n ** 16n, GWEI), "10,000,000");
  assert.equal(formatUnits(1234567n, 0), "1,234,567");
  assert.equal(formatUnits(1234567n * 10n ** 18n + 5n, ETHER), "1,234,567.000000000000000005");
  assert.equal(formatUnits(2n ** 53n + 1n, 0), "9,007,199,254,740,993");
  assert.equal(formatUnits(MAX_UINT256, ETHER).replaceAll(/[,.]/g, ""), MAX_UINT256.toString());
});

test("any amount survives being written and read, in any unit", () => {
  for (const value of numbers(2000)) {
    for (const decimals of [0, 6, GWEI, ETHER]) assert.equal(parseUnits(formatUnits(value, decimals), decimals), value);
    assert.equal(readQuantity(toQuantity(value)), value);
    assert.equal(readQuantity(value.toString()), value);
  }
});

test("amounts with too many decimals are refused, not rounded", () => {
  assert.equal(parseUnits("0.0000000000000000001", ETHER), null);
  assert.equal(parseUnits("1.5", 0), null);
  for (const text of ["", ".", "1.", ".5", "-1", "1e3", "0x1", "1 2", "NaN"])
    assert.equal(parseUnits(text, ETHER), null, text);
});

test("quantities are whole numbers of at most 256 bits", () => {
  assert.equal(readQuantity("1000"), 1000n);
  assert.equal(readQuantity("0x3E8"), 1000n);
  assert.equal(readQuantity(7), 7n);
  assert.equal(readQuantity(MAX_UINT256.toString()), MAX_UINT256);
  const refused = [2 ** 53, -1, 1.5, NaN, "-1", "1.0", "1e18", "", " 1", "0x", "9".repeat(78), `0x${"f".repeat(65)}`];
  for (const given of [...refused, "9".repeat(1_000_000), null, undefined, {}, [], true, 1n]) {
    assert.equal(readQuantity(given), null, String(given).slice(0, 30));
  }
});
