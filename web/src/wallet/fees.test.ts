import assert from "node:assert/strict";
import test from "node:test";
import { codedError, ScriptedWallet } from "../testing/scripted-wallet.ts";
import { estimateFees, feeOf, isTooExpensive } from "./fees.ts";

const FROM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

test("fees are estimated without the request's own limit", async () => {
  const wallet = new ScriptedWallet({
    eth_estimateGas: () => "0x5208",
    eth_gasPrice: () => "0x4a817c800",
    eth_getBalance: () => "0xde0b6b3a7640000",
  });
  const fees = await estimateFees(wallet, { from: FROM, to: FROM, gas: "0x1" });
  assert.deepEqual(wallet.calls[0], ["eth_estimateGas", [{ from: FROM, to: FROM }]]);
  assert.equal(feeOf(fees), 420_000_000_000_000n);
  assert.equal(isTooExpensive({ value: 10n ** 18n }, fees), true);
  assert.equal(isTooExpensive({ value: 10n ** 17n }, fees), false);
});

test("what the wallet cannot tell is not known", async () => {
  const fees = await estimateFees(new ScriptedWallet({}), { from: FROM });
  assert.deepEqual(fees, { gas: null, price: null, balance: null, failure: null });
  assert.equal(feeOf(fees), null);
  assert.equal(isTooExpensive({ value: 1n }, fees), false);
});

test("a transaction that would fail is noticed", async () => {
  for (const reason of [
    "execution reverted: not yours",
    "max initcode size exceeded: code size 60000 limit 49152",
    "create initcode size limit",
    "VM Exception while processing transaction: invalid opcode",
  ]) {
    const wallet = new ScriptedWallet({
      eth_estimateGas: () => {
        throw codedError(-32000, reason);
      },
    });
    assert.equal((await estimateFees(wallet, { from: FROM })).failure, reason);
  }
});
