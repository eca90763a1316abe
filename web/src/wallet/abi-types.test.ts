import assert from "node:assert/strict";
import test from "node:test";
import { AbiError, parseSignature, readAbi, selectorOf, signatureOf } from "./abi-types.ts";

test("selectors are those of the contracts", () => {
  const known: [string, string][] = [
    ["transfer(address to, uint256 amount)", "0xa9059cbb"],
    ["function approve(address,uint)", "0x095ea7b3"],
    ["transferFrom(address,address,uint256) returns (bool)", "0x23b872dd"],
    ["function balanceOf(address owner) view returns (uint256)", "0x70a08231"],
    ["baz(uint32,bool)", "0xcdcd77c0"],
    ["sam(bytes,bool,uint256[])", "0xa5643bf2"],
    ["f(uint256,uint32[],bytes10,bytes)", "0x8be65246"],
  ];
  for (const [signature, selector] of known) assert.equal(selectorOf(parseSignature(signature)), selector, signature);
});

test("signatures may have tuples, arrays, names and words of Solidity", () => {
  const text = "function f(tuple(address who, uint256[2] parts)[] calldata items, (bool, bytes) last) external payable";
  const found = parseSignature(text);
  assert.equal(signatureOf(found), "f((address,uint256[2])[],(bool,bytes))");
  assert.deepEqual(
    found.inputs.map(({ name }) => name),
    ["items", "last"],
  );
});

test("an ABI in JSON is read, and what is not a function is left out", () => {
  const abi = [
    { type: "event", name: "Transfer", inputs: [] },
    {
      type: "function",
      name: "swap",
      inputs: [{ name: "path", type: "tuple[]", components: [{ name: "pool", type: "address" }] }],
    },
    { type: "function", name: "<b>", inputs: [] },
    { type: "function", name: "odd", inputs: [{ name: "x", type: "uint7" }] },
    null,
    7,
    "stake(uint256 amount)",
  ];
  assert.deepEqual(readAbi(abi).map(signatureOf), ["swap((address)[])", "stake(uint256)"]);
  assert.deepEqual(readAbi("stake(uint256)").map(signatureOf), ["stake(uint256)"]);
  for (const nothing of [null, undefined, {}, 5, [], "", "javascript:alert(1)"]) assert.deepEqual(readAbi(nothing), []);
});

test("hostile signatures are refused", () => {
  const nested = `f(${"(".repeat(100)}uint256${")".repeat(100)})`;
  const many = `f(${Array.from({ length: 100 }, () => "bool").join()})`;
  const hostile = [
    nested,
    many,
    "f(uint256",
    "f",
    "(uint256)",
    "f(uint0)",
    "f(bytes33)",
    "f(uint[0])",
    "f(())",
    "f(uint[99999])",
  ];
  for (const text of [
    ...hostile,
    `f(uint256${"[]".repeat(50)})`,
    "f(uint256[-1])",
    `${"x".repeat(5000)}()`,
    "a b(uint256)",
  ]) {
    assert.throws(() => parseSignature(text), AbiError, text.slice(0, 40));
  }
});
