import assert from "node:assert/strict";
import test from "node:test";
import { ScriptedWallet } from "../testing/scripted-wallet.ts";
import { readAnnouncement, WalletDirectory } from "./discovery.ts";

const ICON = "data:image/svg+xml,<svg/>";
const provider = new ScriptedWallet({});
const info = { uuid: "u1", rdns: "org.example", name: "Example", icon: ICON };

function announce(target: EventTarget, detail: unknown): void {
  target.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
}

test("wallets announce themselves when they are asked, and later", () => {
  const target = new EventTarget();
  let asked = 0;
  target.addEventListener("eip6963:requestProvider", () => {
    asked++;
    announce(target, { info, provider });
  });
  let changes = 0;
  const directory = new WalletDirectory(target, () => changes++);
  assert.equal(asked, 1);
  assert.deepEqual(
    directory.wallets.map(({ name }) => name),
    ["Example"],
  );
  announce(target, { info, provider });
  assert.equal(changes, 1, "the same wallet again is no change");
  announce(target, { info: { ...info, uuid: "u2", name: "Second" }, provider: new ScriptedWallet({}) });
  assert.deepEqual(
    directory.wallets.map(({ name }) => name),
    ["Example", "Second"],
  );
  directory.close();
  announce(target, { info: { ...info, uuid: "u3" }, provider });
  assert.equal(directory.wallets.length, 2);
});

test("an announced wallet cannot be replaced by another with its id", () => {
  const target = new EventTarget();
  const directory = new WalletDirectory(target, () => {});
  announce(target, { info, provider });
  announce(target, { info, provider: new ScriptedWallet({}) });
  assert.equal(directory.wallets.length, 1);
  assert.equal(directory.wallets[0]?.provider, provider);
});

test("window.ethereum is used only if no wallet announces itself", () => {
  const target = Object.assign(new EventTarget(), { ethereum: provider });
  const directory = new WalletDirectory(target, () => {});
  assert.deepEqual(
    directory.wallets.map(({ rdns }) => rdns),
    ["window.ethereum"],
  );
  announce(target, { info, provider });
  assert.deepEqual(
    directory.wallets.map(({ rdns }) => rdns),
    ["org.example"],
  );
  assert.deepEqual(new WalletDirectory(Object.assign(new EventTarget(), { ethereum: {} }), () => {}).wallets, []);
});

test("announcements are not trusted", () => {
  assert.equal(readAnnouncement({ info, provider })?.icon, ICON);
  for (const icon of [
    "javascript:alert(1)",
    "https://example.org/x.png",
    "data:text/html,<b>",
    `data:image/png,${"x".repeat(300_000)}`,
    7,
  ]) {
    assert.equal(readAnnouncement({ info: { ...info, icon }, provider })?.icon, null);
  }
  const name = readAnnouncement({ info: { ...info, name: `\u202E${"x".repeat(1000)}` }, provider })?.name ?? "";
  assert.ok(name.startsWith("⟨U+202E⟩") && name.length < 60);
  for (const wrong of [
    null,
    {},
    { info },
    { info: {}, provider },
    { info, provider: {} },
    { info: { ...info, uuid: "" }, provider },
  ]) {
    assert.equal(readAnnouncement(wrong), null);
  }
  const target = new EventTarget();
  const directory = new WalletDirectory(target, () => {});
  for (let at = 0; at < 100; at++) announce(target, { info: { ...info, uuid: `u${at}` }, provider });
  assert.equal(directory.wallets.length, 20);
});
