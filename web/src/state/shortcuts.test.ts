import assert from "node:assert/strict";
import { test } from "node:test";
import { type Key, Shortcuts } from "./shortcuts.ts";

const press = (key: string, changes: Partial<Key> = {}): Key => ({
  key,
  altKey: false,
  ctrlKey: false,
  metaKey: false,
  ...changes,
});

test("a sequence of keys goes to a view, if the second key follows soon", () => {
  let now = 0;
  const shortcuts = new Shortcuts(() => now);
  assert.equal(shortcuts.read(press("g"), false), null);
  assert.equal(shortcuts.read(press("i"), false), "inbox");
  assert.equal(shortcuts.read(press("i"), false), null);
  shortcuts.read(press("g"), false);
  now = 5_000;
  assert.equal(shortcuts.read(press("t"), false), null);
});

test("keys that go into a field mean nothing, except those that close and start anew", () => {
  const shortcuts = new Shortcuts(() => 0);
  for (const key of ["?", "/", "g", "i"]) assert.equal(shortcuts.read(press(key), true), null);
  assert.equal(shortcuts.read(press("Escape"), true), "close");
  assert.equal(shortcuts.read(press("n", { altKey: true }), true), "new");
  assert.equal(shortcuts.read(press("n", { ctrlKey: true }), false), null);
  assert.deepEqual([shortcuts.read(press("?"), false), shortcuts.read(press("/"), false)], ["shortcuts", "message"]);
});
