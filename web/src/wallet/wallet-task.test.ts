import assert from "node:assert/strict";
import test from "node:test";
import type { TextStorage } from "../state/storage.ts";
import { memoryLocks } from "../testing/memory-locks.ts";
import { announced, codedError, type Respond, ScriptedWallet } from "../testing/scripted-wallet.ts";
import { until } from "../testing/until.ts";
import { ExclusiveLock } from "./exclusive-lock.ts";
import type { followTransaction, Outcome } from "./following.ts";
import { SentStore } from "./sent-store.ts";
import { readTransaction } from "./transaction.ts";
import { WalletTask } from "./wallet-task.ts";

const ME = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const CONTRACT = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
const HASH = `0x${"ab".repeat(32)}`;
const CONFIRMED: Outcome = { kind: "confirmed", block: 7n, confirmations: 1, contract: null };

/** A browser: its storage, its locks and its wallet. Each task is a tab. */
function browser(responses: Record<string, Respond> = {}) {
  const texts = new Map<string, string>();
  const storage: TextStorage = {
    get: (key) => texts.get(key) ?? null,
    set: (key, text) => (text === null ? void texts.delete(key) : void texts.set(key, text)),
  };
  const store = new SentStore(storage);
  const locks = memoryLocks();
  const provider = new ScriptedWallet({
    eth_accounts: () => [ME],
    eth_chainId: () => "0x5",
    eth_getTransactionCount: () => "0x3",
    eth_sendTransaction: () => HASH,
    ...responses,
  });
  const wallet = announced(provider);
  const outcomes: Outcome[] = [];
  const follow: typeof followTransaction = async (_, hash, { signal, onProgress }) => {
    onProgress({ block: null, confirmations: 0, isReachable: true });
    assert.equal(hash, HASH);
    while (outcomes.length === 0 && !signal.aborted) await settled();
    return signal.aborted ? null : (outcomes[0] ?? null);
  };
  const tab = async (storing: SentStore = store, fields: object = { to: ME }) => {
    const task = new WalletTask("r", readTransaction({ value: "1", chain_id: 5, ...fields }), {
      store: storing,
      lock: new ExclusiveLock("r", locks),
      wallets: () => [wallet],
      onChange: () => {},
      follow,
    });
    task.choose(wallet);
    await task.resume();
    await settled();
    return task;
  };
  return { store, provider, outcomes, tab };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 1));

test("a transaction is sent once, followed, and answered", async () => {
  const { store, provider, outcomes, tab } = browser();
  const task = await tab();
  assert.equal(task.phase.kind, "idle");
  const sending = task.send();
  void task.send(); // pressed twice
  await sending;
  await until(() => task.phase.kind === "following");
  assert.equal(store.get("r")?.hash, HASH);
  outcomes.push(CONFIRMED);
  await until(() => task.phase.kind === "answering");
  const detail = "The transaction succeeded in block 7 and has 1 confirmation.";
  const answer = { status: "confirmed", transaction_hash: HASH, detail };
  assert.deepEqual(task.phase, { kind: "answering", answer });
  assert.deepEqual(store.get("r")?.answer, answer);
  assert.equal(provider.count("eth_sendTransaction"), 1);
  assert.deepEqual(provider.calls.findLast(([method]) => method === "eth_sendTransaction")?.[1], [
    { from: ME, to: ME, value: "0x1", data: "0x", chainId: "0x5" },
  ]);
});

test("the answer for a creation has the address of the contract", async () => {
  const { store, provider, outcomes, tab } = browser();
  const task = await tab(store, { to: null, data: "0x60ff" });
  await Promise.all([task.send(), task.send()]);
  outcomes.push({ ...CONFIRMED, contract: CONTRACT });
  await until(() => task.phase.kind === "answering");
  assert.ok(task.phase.kind === "answering");
  assert.equal(task.phase.answer.contract_address, CONTRACT);
  assert.equal(store.get("r")?.answer?.contract_address, CONTRACT, "also after a reload");
  assert.equal(provider.count("eth_sendTransaction"), 1);
  assert.deepEqual(provider.calls.findLast(([method]) => method === "eth_sendTransaction")?.[1], [
    { from: ME, value: "0x1", data: "0x60ff", chainId: "0x5" },
  ]);
});

test("the answer for a call has no contract, whatever the receipt says", async () => {
  const { outcomes, tab } = browser();
  outcomes.push({ ...CONFIRMED, contract: CONTRACT });
  const task = await tab();
  await task.send();
  await until(() => task.phase.kind === "answering");
  assert.ok(task.phase.kind === "answering" && !("contract_address" in task.phase.answer));
});

test("a transaction with neither recipient nor code is not sent", async () => {
  const { store, provider, tab } = browser();
  for (const fields of [{}, { to: null, data: "0x" }, { to: "", data: "0x60ff" }, { to: "0x0", data: "0x60ff" }]) {
    await (await tab(store, fields)).send();
  }
  assert.equal(provider.count("eth_sendTransaction"), 0);
  assert.equal(store.get("r"), null);
});

test("a refusal in the wallet is the answer", async () => {
  const { provider, tab } = browser();
  provider.script("eth_sendTransaction", () => {
    throw codedError(4001);
  });
  const task = await tab();
  await task.send();
  assert.ok(task.phase.kind === "answering");
  assert.equal(task.phase.answer.status, "rejected");
});

test("a failure on the chain is the answer, with its hash", async () => {
  const { outcomes, tab } = browser();
  outcomes.push({ kind: "failed", block: 9n, confirmations: 1, contract: null });
  const task = await tab();
  await task.send();
  await until(() => task.phase.kind === "answering");
  assert.ok(task.phase.kind === "answering");
  assert.equal(task.phase.answer.status, "failed");
  assert.equal(task.phase.answer.transaction_hash, HASH);
});

test("a reload after the hash continues following, and sends nothing", async () => {
  const { provider, outcomes, tab } = browser();
  const before = await tab();
  await before.send();
  await until(() => before.phase.kind === "following");
  before.close();
  const after = await tab();
  await until(() => after.phase.kind === "following");
  outcomes.push(CONFIRMED);
  await until(() => after.phase.kind === "answering");
  assert.equal(provider.count("eth_sendTransaction"), 1);
  after.close();
  const last = await tab();
  assert.equal(last.phase.kind, "answering", "the outcome is stored too");
});

test("a reload while the wallet asks does not ask again by itself", async () => {
  let answer = (_: string) => {};
  const { provider, tab } = browser({ eth_sendTransaction: () => new Promise((resolve) => (answer = resolve)) });
  const before = await tab();
  void before.send();
  await until(() => provider.count("eth_sendTransaction") === 1);
  before.close();
  const after = await tab();
  assert.deepEqual(after.phase, { kind: "unsure", reason: "" });
  assert.equal(await after.hasSentNothing(), true);
  provider.script("eth_getTransactionCount", () => "0x4");
  assert.equal(await after.hasSentNothing(), false);
  await after.send();
  assert.equal(provider.count("eth_sendTransaction"), 1, "it is not idle");
  await after.forget();
  assert.equal(after.phase.kind, "idle");
  void after.send();
  await until(() => provider.count("eth_sendTransaction") === 2);
  answer(HASH);
  await until(() => after.phase.kind === "following");
  after.close();
});

test("of two tabs one sends, and the other continues when it is closed", async () => {
  const { provider, outcomes, tab } = browser();
  const [one, other] = [await tab(), await tab()];
  await Promise.all([one.send(), other.send()]);
  await until(() => [one, other].some(({ phase }) => phase.kind === "following"));
  await settled();
  assert.equal(provider.count("eth_sendTransaction"), 1);
  const [sender, waiter] = one.phase.kind === "following" ? [one, other] : [other, one];
  assert.equal(waiter.phase.kind, "elsewhere");
  await waiter.resume(); // the record has changed
  assert.deepEqual(waiter.phase, { kind: "elsewhere", hash: HASH });
  sender.close();
  await until(() => waiter.phase.kind === "following");
  outcomes.push(CONFIRMED);
  await until(() => waiter.phase.kind === "answering");
  assert.equal(provider.count("eth_sendTransaction"), 1);
});

test("an error that may have sent is not tried again without the person", async () => {
  const { store, provider, tab } = browser();
  provider.script("eth_sendTransaction", () => {
    throw codedError(-32000, "insufficient funds");
  });
  const task = await tab();
  await task.send();
  assert.deepEqual(task.phase, { kind: "unsure", reason: "insufficient funds" });
  assert.notEqual(store.get("r"), null);
  task.reportFailure();
  const answer = { status: "failed", detail: "The wallet reported an error: insufficient funds" };
  assert.deepEqual({ ...task.phase }, { kind: "answering", answer });
});

test("an error that sent nothing lets the person try again", async () => {
  const { store, provider, tab } = browser();
  provider.script("eth_sendTransaction", () => {
    throw codedError(4100);
  });
  const task = await tab();
  await task.send();
  assert.equal(task.phase.kind, "idle");
  assert.match(task.problem, /does not let this page use the account/);
  assert.equal(store.get("r"), null);
});

test("nothing is sent on another network, or if nothing can be stored", async () => {
  const { provider, tab } = browser();
  const task = await tab();
  provider.script("eth_chainId", () => "0x1"); // without an event
  await task.send();
  assert.equal(task.phase.kind, "idle");
  assert.match(task.problem, /has changed/);
  provider.script("eth_chainId", () => "0x5");
  const forgetful = await tab(new SentStore({ get: () => null, set: () => {} }));
  await forgetful.send();
  assert.equal(forgetful.phase.kind, "idle");
  assert.match(forgetful.problem, /could send twice/);
  assert.equal(provider.count("eth_sendTransaction"), 0);
});

test("a transaction that was replaced is left to the person", async () => {
  const { outcomes, tab } = browser();
  outcomes.push({ kind: "replaced" });
  const task = await tab();
  await task.send();
  await until(() => task.phase.kind === "replaced");
});
