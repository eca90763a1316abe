import assert from "node:assert/strict";
import test from "node:test";
import { announced, codedError, ScriptedWallet } from "../testing/scripted-wallet.ts";
import { readTransaction } from "./transaction.ts";
import { WalletConnection } from "./wallet-connection.ts";

const ME = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const OTHER = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
const transaction = readTransaction({ to: OTHER, chain_id: 5, from_address: ME });

test("a wallet is connected, changed to the network and to the account", async () => {
  let [accounts, chain] = [[] as string[], "0x1"];
  const provider = new ScriptedWallet({
    eth_accounts: () => accounts,
    eth_chainId: () => chain,
    eth_requestAccounts: () => (accounts = [OTHER]),
    wallet_switchEthereumChain: () => {
      chain = "0x5";
      return null;
    },
    wallet_requestPermissions: () => {
      accounts = [OTHER, ME.toLowerCase()];
      return [];
    },
  });
  let changes = 0;
  const connection = new WalletConnection(announced(provider), () => changes++);
  await connection.refresh();
  assert.equal(connection.stepTo(transaction), "connect");
  await connection.connect();
  assert.equal(connection.stepTo(transaction), "network");
  await connection.switchTo(5n);
  assert.equal(connection.stepTo(transaction), "account");
  assert.equal(connection.senderOf(transaction), null);
  await connection.chooseAccount();
  assert.equal(connection.stepTo(transaction), "ready");
  assert.equal(connection.senderOf(transaction), ME);
  assert.equal(connection.senderOf({ from: null }), OTHER);
  assert.ok(changes > 3);
});

test("a refusal of the person is an error that the next question clears", async () => {
  const provider = new ScriptedWallet({
    eth_accounts: () => [],
    eth_chainId: () => "0x5",
    eth_requestAccounts: () => {
      throw codedError(4001);
    },
  });
  const connection = new WalletConnection(announced(provider), () => {});
  await connection.connect();
  assert.equal(connection.error?.kind, "rejected");
  assert.ok(!connection.isBusy);
  provider.script("eth_requestAccounts", () => [ME]);
  provider.script("eth_accounts", () => [ME]);
  await connection.connect();
  assert.equal(connection.error, null);
  assert.equal(connection.stepTo(transaction), "ready");
});

test("changes in the wallet are seen until the connection is closed", async () => {
  const provider = new ScriptedWallet({ eth_accounts: () => [ME], eth_chainId: () => "0x5" });
  const connection = new WalletConnection(announced(provider), () => {});
  await connection.refresh();
  provider.emit("chainChanged", "0x1");
  assert.equal(connection.stepTo(transaction), "network");
  provider.emit("chainChanged", "nonsense");
  assert.equal(connection.chainId, null);
  provider.emit("accountsChanged", []);
  assert.equal(connection.stepTo(transaction), "connect");
  connection.close();
  provider.emit("accountsChanged", [ME]);
  assert.equal(connection.accounts.length, 0);
});
