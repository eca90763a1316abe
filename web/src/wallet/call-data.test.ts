import assert from "node:assert/strict";
import test from "node:test";
import { describeCallData, describeCode, UNLIMITED } from "./call-data.ts";
import { MAX_UINT256 } from "./units.ts";

const WHO = "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
const word = (value: bigint) => value.toString(16).padStart(64, "0");
const approve = (amount: bigint) => `0x095ea7b3${WHO.padStart(64, "0")}${word(amount)}`;

test("calls of token standards are known without an ABI", () => {
  const found = describeCallData(`0xa9059cbb${WHO.padStart(64, "0")}${word(5n)}`);
  assert.ok(found.kind === "call");
  assert.equal(found.signature, "transfer(address,uint256)");
  assert.deepEqual(
    found.arguments.map(({ name, value }) => [name, value]),
    [
      ["to", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"],
      ["amount", 5n],
    ],
  );
  assert.equal(found.isStandard, true);
  assert.equal(found.risk, null);
});

test("unlimited allowances are a risk", () => {
  const riskOf = (data: string) => {
    const found = describeCallData(data);
    return found.kind === "call" ? found.risk : undefined;
  };
  assert.equal(riskOf(approve(MAX_UINT256)), "unlimited");
  assert.equal(riskOf(approve(UNLIMITED)), "unlimited");
  assert.equal(riskOf(approve(UNLIMITED - 1n)), null);
  assert.equal(riskOf(approve(0n)), null);
  const all = (approved: bigint) => `0xa22cb465${WHO.padStart(64, "0")}${word(approved)}`;
  assert.equal(riskOf(all(1n)), "all");
  assert.equal(riskOf(all(0n)), null);
});

test("an ABI of the request names other functions, only if the selector is theirs", () => {
  const data = `0xa694fc3a${word(7n)}`; // stake(uint256)
  assert.deepEqual(describeCallData(data), { kind: "unknown", selector: "0xa694fc3a", size: 36 });
  assert.equal(describeCallData(data, ["refund(uint256)"]).kind, "unknown");
  const found = describeCallData(data, [
    { type: "function", name: "stake", inputs: [{ name: "amount", type: "uint256" }] },
  ]);
  assert.ok(found.kind === "call");
  assert.equal(found.isStandard, false);
  assert.deepEqual(found.arguments, [{ name: "amount", type: "uint256", value: 7n }]);
  assert.equal(describeCallData(`0xa694fc3a`, "stake(uint256)").kind, "unknown", "too short");
});

test("an ABI cannot rename the functions of a standard", () => {
  const found = describeCallData(approve(MAX_UINT256), ["approve(address friend, uint256 gift)"]);
  assert.ok(found.kind === "call");
  assert.deepEqual(
    found.arguments.map(({ name }) => name),
    ["spender", "amount"],
  );
  assert.equal(found.risk, "unlimited");
});

test("no data and short data are told apart", () => {
  assert.deepEqual(describeCallData("0x"), { kind: "none" });
  assert.deepEqual(describeCallData("0xabcd"), { kind: "unknown", selector: null, size: 2 });
});

test("code is described by its size and its hash", () => {
  assert.deepEqual(describeCode("0x00"), {
    kind: "creation",
    size: 1,
    hash: "0xbc36789e7a1e281436464229828f817d6612f7b477d66591ff96a9e064bcc98a",
    looksLike: null,
  });
  assert.deepEqual(describeCode("0x"), { kind: "none" });
});

test("code that is a call is noticed", () => {
  const likeness = (code: string, abi: unknown = null) => {
    const found = describeCode(code, abi);
    return found.kind === "creation" ? found.looksLike : undefined;
  };
  assert.equal(likeness(approve(5n)), "approve(address,uint256)");
  assert.equal(likeness(`0xa694fc3a${word(7n)}`, "stake(uint256 amount)"), "stake(uint256)");
  assert.equal(likeness(`0xa694fc3a${word(7n)}`), null);
});
