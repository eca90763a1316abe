import assert from "node:assert/strict";
import { test } from "node:test";
import { useMemoryStorage } from "../testing/memory-storage.ts";
import { TokenStore } from "./token-store.ts";

test("a token is kept for the tab, or on the device if the person chose so", () => {
  const { local, session } = useMemoryStorage();
  const store = new TokenStore();
  store.set("one");
  assert.deepEqual([store.get(), local.size, session.size], ["one", 0, 1]);
  store.set("two", true);
  assert.deepEqual([store.get(), local.size, session.size], ["two", 1, 0]);
  assert.equal(new TokenStore().get(), "two");
  store.set("");
  assert.deepEqual([store.get(), local.size, session.size], ["", 0, 0]);
});

test("a given token is not stored", () => {
  const { local, session } = useMemoryStorage();
  const store = new TokenStore();
  store.give("given");
  assert.deepEqual([store.get(), local.size, session.size], ["given", 0, 0]);
});

test("without storage a token lasts as long as the page", () => {
  useMemoryStorage({ isForbidden: true });
  const store = new TokenStore();
  store.set("one");
  assert.equal(store.get(), "one");
});

test("a refused token is reported once it is the present one, until there is another", () => {
  useMemoryStorage();
  const store = new TokenStore();
  const reported: boolean[] = [];
  store.addEventListener("callboard-denied", ({ wasRefused }) => reported.push(wasRefused));
  store.deny("");
  assert.equal(store.isDenied, true);
  store.set("wrong");
  assert.equal(store.isDenied, false);
  store.deny(""); // the response to a request of before
  store.deny("wrong");
  assert.deepEqual([reported, store.isDenied], [[false, true], true]);
  store.forget();
  assert.deepEqual([store.get(), store.isDenied], ["", false]);
});
