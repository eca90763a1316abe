import assert from "node:assert/strict";
import test from "node:test";
import { codedError, ScriptedWallet } from "../testing/scripted-wallet.ts";
import { accountsOf, receiptOf, sendTransaction, switchChain, WalletError } from "./provider.ts";

const HASH = `0x${"ab".repeat(32)}`;

test("codes of errors are translated, also of wrapped ones", () => {
  const kinds = [4001, 4100, 4200, 4900, 4901, 4902, -32002, -32602, -32601, -32603, 12345].map(
    (code) => WalletError.of(codedError(code)).kind,
  );
  const expected = ["rejected", "unauthorized", "unsupported", "disconnected", "disconnected", "unknown-chain", "busy"];
  assert.deepEqual(kinds, [...expected, "invalid", "unsupported", "failed", "failed"]);
  assert.equal(
    WalletError.of({ code: -32603, message: "x", data: { originalError: { code: 4902 } } }).kind,
    "unknown-chain",
  );
  assert.equal(WalletError.of({ code: "ACTION_REJECTED", message: "no" }).kind, "rejected");
  assert.equal(WalletError.of("broken").message, "broken");
  assert.equal(WalletError.of(undefined).kind, "failed");
  assert.equal(WalletError.of(codedError(-32000, "bad\u202Egas")).message, "bad⟨U+202E⟩gas");
});

test("only some errors prove that nothing was sent", () => {
  assert.ok(!WalletError.of(codedError(4001)).mayHaveSent);
  assert.ok(!WalletError.of(codedError(4100)).mayHaveSent);
  for (const code of [-32000, -32603, 4900]) assert.ok(WalletError.of(codedError(code)).mayHaveSent);
});

test("results of a wallet are checked", async () => {
  const wallet = new ScriptedWallet({
    eth_accounts: () => ["0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "nonsense", 7],
    eth_sendTransaction: () => HASH.toUpperCase().replace("0X", "0x"),
    wallet_switchEthereumChain: () => null,
  });
  assert.deepEqual(await accountsOf(wallet), ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"]);
  assert.equal(await sendTransaction(wallet, {}), HASH);
  await switchChain(wallet, 31337n);
  assert.deepEqual(wallet.calls.at(-1), ["wallet_switchEthereumChain", [{ chainId: "0x7a69" }]]);
  for (const wrong of [null, "0x12", {}, "<b>"]) {
    wallet.script("eth_sendTransaction", () => wrong);
    await assert.rejects(sendTransaction(wallet, {}), { kind: "failed", mayHaveSent: true });
  }
});

test("receipts are read", async () => {
  const wallet = new ScriptedWallet({ eth_getTransactionReceipt: () => null });
  assert.equal(await receiptOf(wallet, HASH), null);
  wallet.script("eth_getTransactionReceipt", () => ({ transactionHash: HASH, blockNumber: "0x10", status: "0x0" }));
  assert.deepEqual(await receiptOf(wallet, HASH), { block: 16n, isSuccess: false, contract: null });
  for (const wrong of [{}, { blockNumber: "0x1" }, { blockNumber: "0x1", status: "0x1", transactionHash: "0xother" }]) {
    wallet.script("eth_getTransactionReceipt", () => wrong);
    await assert.rejects(receiptOf(wallet, HASH), { kind: "failed" });
  }
});

test("the contract of a receipt is read with its checksum, and only after a success", async () => {
  const contract = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
  const read = async (contractAddress: unknown, status = "0x1") => {
    const receipt = { transactionHash: HASH, blockNumber: "0x10", status, contractAddress };
    return (await receiptOf(new ScriptedWallet({ eth_getTransactionReceipt: () => receipt }), HASH))?.contract;
  };
  assert.equal(await read(contract.toLowerCase()), contract);
  assert.equal(await read(contract), contract);
  assert.equal(await read(contract.toLowerCase(), "0x0"), null, "some nodes name it after a failure");
  for (const wrong of [null, "", "0x0", contract.replace("5aAe", "5aae"), 7, {}]) assert.equal(await read(wrong), null);
});
