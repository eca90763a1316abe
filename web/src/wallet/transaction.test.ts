import assert from "node:assert/strict";
import test from "node:test";
import { readTransaction, sendParameters } from "./transaction.ts";

const TO = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const FROM = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
const PAYLOAD = { to: TO, value: "10000000000000000", data: "0x", description: "Rent" };

test("a payload is read", () => {
  const found = readTransaction({
    ...PAYLOAD,
    gas_limit: 21000,
    chain_id: 11155111,
    from_address: FROM,
    confirmations: 3,
  });
  assert.deepEqual(found.invalid, []);
  assert.equal(found.value, 10n ** 16n);
  assert.equal(found.chainId, 11155111n);
  assert.equal(found.confirmations, 3);
  assert.deepEqual(sendParameters(found, FROM, 11155111n), {
    from: FROM,
    to: TO,
    value: "0x2386f26fc10000",
    data: "0x",
    gas: "0x5208",
    chainId: "0xaa36a7",
  });
});

test("optional fields may be missing", () => {
  const found = readTransaction({ to: TO, gas_limit: null });
  assert.deepEqual(found.invalid, []);
  assert.equal(found.value, 0n);
  assert.equal(found.chainId, null);
  assert.equal(found.confirmations, 1);
  assert.ok(!("gas" in sendParameters(found, FROM, 1n)));
});

test("a transaction without a recipient creates a contract if it has code", () => {
  for (const recipient of [{ to: null }, {}]) {
    const found = readTransaction({ ...recipient, value: "5", data: "0x60FF", chain_id: 5 });
    assert.deepEqual(found.invalid, []);
    assert.equal(found.call.kind, "creation");
    const sent = sendParameters(found, FROM, 5n);
    assert.deepEqual(sent, { from: FROM, value: "0x5", data: "0x60ff", chainId: "0x5" });
  }
  const long = readTransaction({ to: null, data: `0x${"00".repeat(128 * 1024)}` });
  assert.deepEqual(long.invalid, [], "the largest data that the server accepts");
});

test("a transaction with neither a recipient nor code cannot be sent", () => {
  const cases: [object, string][] = [
    [{ to: null }, "code"],
    [{ to: null, data: "0x" }, "code"],
    [{ to: null, data: "" }, "code"],
    [{ to: null, data: null }, "code"],
    [{ data: "0x" }, "code"],
    [{ to: null, data: "0x6" }, "data"],
    [{ to: null, data: "60ff" }, "data"],
    [{ to: null, data: ["0x60ff"] }, "data"],
    [{ to: null, data: `0x${"00".repeat(128 * 1024 + 1)}` }, "data"],
    ...["", " ", "0x", "0x0", "null", 0, false, [], {}, "0x60ff"].map((to): [object, string] => [
      { to, data: "0x60ff" },
      "to",
    ]),
  ];
  for (const [fields, invalid] of cases) {
    const found = readTransaction(fields);
    assert.deepEqual(found.invalid, [invalid], JSON.stringify(fields).slice(0, 60));
    if (invalid === "to") assert.equal(found.call.kind, "unknown", "it is not shown as a creation");
    assert.throws(() => sendParameters(found, FROM, 1n), TypeError);
  }
});

test("fields that cannot be used are listed, and such a transaction cannot be sent", () => {
  const cases: [object, string][] = [
    [{ to: "javascript:alert(1)" }, "to"],
    [{ to: "" }, "to"],
    [{ to: TO.replace("5aAe", "5aae") }, "checksum"],
    [{ value: "1e18" }, "value"],
    [{ value: -1 }, "value"],
    [{ value: "9".repeat(100_000) }, "value"],
    [{ data: "0x123" }, "data"],
    [{ data: "<script>" }, "data"],
    [{ data: `0x${"00".repeat(200_000)}` }, "data"],
    [{ gas_limit: "lots" }, "gas_limit"],
    [{ chain_id: "0x10000000000000000" }, "chain_id"],
    [{ chain_id: 0 }, "chain_id"],
    [{ from_address: "0xb0b" }, "from_address"],
    [{ from_address: TO.replace("5aAe", "5aae") }, "from_address"],
    [{ confirmations: 1000 }, "confirmations"],
  ];
  for (const [fields, invalid] of cases) {
    const found = readTransaction({ ...PAYLOAD, ...fields });
    assert.deepEqual(found.invalid, [invalid], JSON.stringify(fields).slice(0, 60));
    assert.throws(() => sendParameters(found, FROM, 1n), TypeError);
  }
  for (const nothing of [null, undefined, 5, "x", []]) assert.deepEqual(readTransaction(nothing).invalid, ["code"]);
});

test("hidden characters of the description are visible", () => {
  assert.equal(readTransaction({ ...PAYLOAD, description: "Pay \u202Eada" }).description, "Pay ⟨U+202E⟩ada");
  assert.equal(readTransaction({ ...PAYLOAD, description: { toString: null } }).description, "");
});
