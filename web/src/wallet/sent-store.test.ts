import assert from "node:assert/strict";
import test from "node:test";
import type { TextStorage } from "../state/storage.ts";
import { type SentRecord, SentStore } from "./sent-store.ts";

const RECORD: SentRecord = { at: 1000, wallet: "w", from: "0x1", chainId: "1", nonce: "7", hash: null, answer: null };

function memory(texts = new Map<string, string>()): TextStorage {
  return {
    get: (key) => texts.get(key) ?? null,
    set: (key, text) => (text === null ? void texts.delete(key) : void texts.set(key, text)),
  };
}

test("a record is stored, changed and deleted", () => {
  const store = new SentStore(memory(), () => 2000);
  assert.equal(store.get("r"), null);
  assert.ok(store.set("r", RECORD));
  assert.deepEqual(store.get("r"), RECORD);
  assert.ok(store.set("r", { ...RECORD, hash: "0xab", answer: { status: "confirmed", transaction_hash: "0xab" } }));
  assert.equal(store.get("r")?.answer?.status, "confirmed");
  assert.equal(store.get("other"), null);
  store.delete("r");
  assert.equal(store.get("r"), null);
});

test("a storage that stores nothing is noticed", () => {
  assert.equal(new SentStore({ get: () => null, set: () => {} }).set("r", RECORD), false);
});

test("old records are deleted", () => {
  const texts = new Map<string, string>();
  const store = new SentStore(memory(texts), () => 200 * 24 * 3600 * 1000);
  store.set("old", RECORD);
  store.set("new", { ...RECORD, at: 199 * 24 * 3600 * 1000 });
  assert.equal(store.get("old"), null);
  assert.notEqual(store.get("new"), null);
});

test("stored nonsense is no outcome", () => {
  const texts = new Map([
    ["callboard.wallet.a", "{"],
    ["callboard.wallet.b", JSON.stringify({ hash: 7, answer: { status: "maybe" }, chainId: "x" })],
    ["callboard.wallet-index", "[]"],
  ]);
  const store = new SentStore(memory(texts));
  assert.equal(store.get("a"), null);
  const { hash, answer, chainId } = store.get("b") ?? RECORD;
  assert.deepEqual([hash, answer, chainId], [null, null, "0"]);
  assert.ok(store.set("c", RECORD));
});
