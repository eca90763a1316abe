import assert from "node:assert/strict";
import test from "node:test";
import { codedError, ScriptedWallet } from "../testing/scripted-wallet.ts";
import { confirmationsOf, followTransaction, type Progress } from "./following.ts";

const HASH = `0x${"ab".repeat(32)}`;
const FROM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

/** Follow a transaction through looks, each with its receipt and the latest block. */
async function follow(looks: readonly (readonly [receipt: object | null | Error, latest: number])[], needed = 1) {
  let look = 0;
  const at = () => looks[Math.min(look, looks.length - 1)] ?? [null, 0];
  const seen: Progress[] = [];
  const wallet = new ScriptedWallet({
    eth_getTransactionReceipt: () => {
      const [receipt] = at();
      if (receipt instanceof Error) throw receipt;
      return receipt === null ? null : { transactionHash: HASH, ...receipt };
    },
    eth_blockNumber: () => `0x${at()[1].toString(16)}`,
    eth_getTransactionByHash: () => ({ nonce: "0x4" }),
    eth_getTransactionCount: () => (at()[1] === 99 ? "0x5" : "0x4"),
  });
  const controller = new AbortController();
  const outcome = await followTransaction(wallet, HASH, {
    from: FROM,
    needed,
    signal: controller.signal,
    onProgress: (progress) => seen.push(progress),
    sleep: async () => {
      if (++look >= looks.length + 5) controller.abort();
    },
  });
  return { outcome, seen };
}

const included = (block: number, status = "0x1") => ({ blockNumber: `0x${block.toString(16)}`, status });

test("a transaction is followed to its confirmations", async () => {
  const { outcome, seen } = await follow(
    [
      [null, 9],
      [included(10), 10],
      [included(10), 11],
      [included(10), 12],
    ],
    3,
  );
  assert.deepEqual(outcome, { kind: "confirmed", block: 10n, confirmations: 3, contract: null });
  assert.deepEqual(
    seen.map(({ confirmations }) => confirmations),
    [0, 1, 2, 3],
  );
});

test("a failure on the chain is an outcome", async () => {
  const { outcome } = await follow([[included(10, "0x0"), 10]]);
  assert.deepEqual(outcome, { kind: "failed", block: 10n, confirmations: 1, contract: null });
});

test("a block that is taken back takes the confirmations back", async () => {
  const { outcome, seen } = await follow(
    [
      [included(10), 10],
      [null, 10],
      [included(11), 11],
      [included(11), 12],
    ],
    2,
  );
  assert.deepEqual(
    seen.map(({ block }) => block),
    [10n, null, 11n, 11n],
  );
  assert.deepEqual(outcome, { kind: "confirmed", block: 11n, confirmations: 2, contract: null });
});

test("errors of the wallet are waited out", async () => {
  const { outcome, seen } = await follow([
    [codedError(4900), 1],
    [{ blockNumber: "odd" }, 1],
    [included(1), 1],
  ]);
  assert.equal(outcome?.kind, "confirmed");
  assert.deepEqual(
    seen.map(({ isReachable }) => isReachable),
    [false, false, true],
  );
});

test("a transaction whose number was used by another one is replaced", async () => {
  assert.deepEqual(
    (
      await follow([
        [null, 98],
        [null, 99],
        [null, 99],
        [null, 99],
      ])
    ).outcome,
    { kind: "replaced" },
  );
  const late = await follow([
    [null, 99],
    [null, 99],
    [included(99), 99],
  ]);
  assert.equal(late.outcome?.kind, "confirmed", "a node may be late with the receipt");
});

test("following ends with its signal", async () => {
  assert.equal((await follow([[null, 1]])).outcome, null);
});

test("confirmations count the block itself, and are never less than one", () => {
  assert.equal(confirmationsOf({ block: 5n }, 5n), 1);
  assert.equal(confirmationsOf({ block: 5n }, 7n), 3);
  assert.equal(confirmationsOf({ block: 5n }, 4n), 1);
});
