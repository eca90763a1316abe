import assert from "node:assert/strict";
import test from "node:test";
import { memoryLocks } from "../testing/memory-locks.ts";
import { ScriptedWallet } from "../testing/scripted-wallet.ts";
import { until } from "../testing/until.ts";
import { SentStore } from "./sent-store.ts";
import { WalletTasks } from "./wallet-tasks.ts";

const PAYLOAD = { to: `0x${"0".repeat(40)}`, value: "1" };

function page() {
  const texts = new Map<string, string>();
  const store = new SentStore({
    get: (key) => texts.get(key) ?? null,
    set: (key, text) => void texts.set(key, text ?? "null"),
  });
  const target = new EventTarget();
  return { target, store, tasks: new WalletTasks(target, store, memoryLocks()) };
}

test("elements of one request share its task, and one of them answers", () => {
  const { tasks } = page();
  const [one, other] = [() => {}, () => {}];
  const task = tasks.open("r", PAYLOAD, one);
  assert.equal(tasks.open("r", PAYLOAD, other), task);
  assert.notEqual(tasks.open("s", PAYLOAD, one), task);
  assert.ok(tasks.claim("r", one));
  assert.ok(tasks.claim("r", one));
  assert.equal(tasks.claim("r", other), false);
  tasks.close("r", one);
  assert.ok(tasks.claim("r", other), "another one may answer when the first is gone");
  assert.equal(tasks.claim("r", one), false);
});

test("a task outlives its element for a moment, and longer while its wallet asks", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { tasks } = page();
  const listener = () => {};
  const task = tasks.open("r", PAYLOAD, listener);
  tasks.close("r", listener);
  context.mock.timers.tick(1000);
  assert.equal(tasks.open("r", PAYLOAD, listener), task);
  context.mock.timers.tick(10_000);
  assert.equal(tasks.open("r", PAYLOAD, listener), task);
  task.phase = { kind: "asking" };
  tasks.close("r", listener);
  context.mock.timers.tick(60_000);
  assert.equal(tasks.open("r", PAYLOAD, listener), task);
  task.phase = { kind: "idle" };
  tasks.close("r", listener);
  context.mock.timers.tick(5000);
  assert.notEqual(tasks.open("r", PAYLOAD, listener), task);
});

test("found wallets and records of other tabs are told", async () => {
  const { target, store, tasks } = page();
  let changes = 0;
  const task = tasks.open("r", PAYLOAD, () => changes++);
  assert.ok(tasks.isSearching);
  const info = { uuid: "u", rdns: "org.example", name: "Example", icon: "" };
  target.dispatchEvent(
    new CustomEvent("eip6963:announceProvider", { detail: { info, provider: new ScriptedWallet({}) } }),
  );
  assert.equal(tasks.wallets.length, 1);
  assert.equal(changes, 1);
  store.set("r", {
    at: Date.now(),
    wallet: "w",
    from: PAYLOAD.to,
    chainId: "1",
    nonce: null,
    hash: null,
    answer: null,
  });
  target.dispatchEvent(Object.assign(new Event("storage"), { key: SentStore.keyOf("r") }));
  await until(() => task.phase.kind === "unsure");
});

test("a page that is left lets other tabs continue, and continues itself when it is shown again", async () => {
  const { target, store, tasks } = page();
  const task = tasks.open("r", PAYLOAD, () => {});
  const record = {
    at: Date.now(),
    wallet: "w",
    from: PAYLOAD.to,
    chainId: "1",
    nonce: null,
    hash: "0xab",
    answer: null,
  };
  store.set("r", record);
  await task.resume();
  const kind = (): string => task.phase.kind;
  assert.equal(kind(), "following");
  target.dispatchEvent(new Event("pagehide"));
  assert.equal(kind(), "idle");
  target.dispatchEvent(new Event("pageshow"));
  await until(() => kind() === "following");
});
