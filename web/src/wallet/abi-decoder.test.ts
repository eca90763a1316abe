import assert from "node:assert/strict";
import test from "node:test";
import { hexToBytes } from "@noble/hashes/utils.js";
import { type Argument, decodeArguments } from "./abi-decoder.ts";
import { AbiError, parseSignature } from "./abi-types.ts";

const word = (value: bigint | number) => BigInt.asUintN(256, BigInt(value)).toString(16).padStart(64, "0");
const right = (hex: string) => hex.padEnd(Math.ceil(hex.length / 64) * 64, "0");
const decode = (signature: string, hex: string) => decodeArguments(parseSignature(signature), hexToBytes(hex));
const plain = (value: Argument["value"]): unknown =>
  Array.isArray(value) ? value.map((each: Argument) => plain(each.value)) : value;
const values = (signature: string, hex: string) => decode(signature, hex).arguments.map(({ value }) => plain(value));

test("the example of the specification with dynamic types is decoded", () => {
  const hex = [
    word(0x123),
    word(0x80),
    right("31323334353637383930"),
    word(0xe0),
    word(2),
    word(0x456),
    word(0x789),
    word(13),
    right("48656c6c6f2c20776f726c6421"),
  ].join("");
  assert.deepEqual(values("f(uint256,uint32[],bytes10,bytes)", hex), [
    0x123n,
    [0x456n, 0x789n],
    "0x31323334353637383930",
    "0x48656c6c6f2c20776f726c6421",
  ]);
});

test("nested arrays of texts are decoded", () => {
  const hex = [
    ...[0x40, 0x140, 2, 0x40, 0xa0, 2, 1, 2, 1, 3].map(word),
    ...[3, 0x60, 0xa0, 0xe0].map(word),
    ...["6f6e65", "74776f", "7468726565"].flatMap((text) => [word(text.length / 2), right(text)]),
  ].join("");
  assert.deepEqual(values("g(uint256[][],string[])", hex), [
    [[1n, 2n], [3n]],
    ["one", "two", "three"],
  ]);
});

test("tuples, fixed arrays, signed numbers and addresses are decoded", () => {
  const address = "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
  const hex = [word(-5), address.padStart(64, "0"), word(1), word(7), word(8)].join("");
  assert.deepEqual(values("f(int8 x, (address who, bool is) y, uint8[2] z)", hex), [
    -5n,
    ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", true],
    [7n, 8n],
  ]);
});

test("names and types of arguments are kept, and surplus bytes are counted", () => {
  const { arguments: found, surplus } = decode("f(uint256 amount)", `${word(5)}beef`);
  assert.deepEqual(found, [{ name: "amount", type: "uint256", value: 5n }]);
  assert.equal(surplus, 2);
  assert.equal(decode("f(bytes)", word(32) + word(1) + right("ab")).surplus, 0);
  assert.equal(decode("f(bytes)", `${word(32)}${word(1)}ab`).surplus, 0);
});

test("data that does not fit its types is refused", () => {
  const bad: [string, string][] = [
    ["f(uint256)", ""],
    ["f(uint256)", "00"],
    ["f(uint8)", word(256)],
    ["f(int8)", word(128)],
    ["f(bool)", word(2)],
    ["f(address)", word(1n << 160n)],
    ["f(bytes4)", word(1)],
    ["f(string)", word(32) + word(2) + right("c328")],
    ["f(bytes)", word(32) + word(1000)],
    ["f(bytes)", word(1n << 255n)],
    ["f(uint256[])", word(32) + word(1n << 200n)],
    ["f(uint256[])", word(32) + word(3) + word(1)],
  ];
  for (const [signature, hex] of bad) assert.throws(() => decode(signature, hex), AbiError, `${signature} ${hex}`);
});

test("data that refers to itself again and again is refused quickly", () => {
  // ten items of each of six levels, which all refer to the same array of the next level: a million values
  const level = word(10) + word(320).repeat(10);
  const started = performance.now();
  assert.throws(() => decode("f(uint256[][][][][][])", word(32) + level.repeat(6)), /too many values/);
  assert.ok(performance.now() - started < 500);
});
