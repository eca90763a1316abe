import assert from "node:assert/strict";
import test from "node:test";
import { isSameAddress, readAddress } from "./address.ts";

// the examples of EIP-55
const VALID = [
  "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
  "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
  "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
];

test("a valid checksum is recognised", () => {
  for (const text of VALID) assert.deepEqual(readAddress(text), { text, checksum: "valid" });
});

test("an address without a checksum gets one", () => {
  for (const text of VALID) {
    const lower = readAddress(text.toLowerCase());
    assert.deepEqual(lower, { text, checksum: "none" });
    assert.deepEqual(readAddress(`0x${text.slice(2).toUpperCase()}`), lower);
    assert.ok(isSameAddress(text, text.toLowerCase()));
  }
  const zero = `0x${"0".repeat(40)}`;
  assert.deepEqual(readAddress(zero), { text: zero, checksum: "valid" });
});

test("a wrong checksum is noticed, and the address is not corrected", () => {
  const mistyped = VALID[0]?.replace("5aAe", "5aae") ?? "";
  assert.deepEqual(readAddress(mistyped), { text: mistyped, checksum: "wrong" });
});

test("anything else is no address", () => {
  const texts = [
    "",
    "0x",
    "0xb0b",
    VALID[0]?.slice(2),
    `${VALID[0]}0`,
    `${VALID[0]?.slice(0, -1)}g`,
    "javascript:alert(1)",
  ];
  for (const text of [...texts, "vitalik.eth", null, 1, {}, `\u202E${VALID[0]}`]) assert.equal(readAddress(text), null);
});
