import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../api/problem.ts";
import { Outbox } from "./outbox.ts";
import type { TextStorage } from "./storage.ts";

class MemoryStorage implements TextStorage {
  readonly texts = new Map<string, string>();
  get(key: string): string | null {
    return this.texts.get(key) ?? null;
  }
  set(key: string, text: string | null): void {
    if (text === null) this.texts.delete(key);
    else this.texts.set(key, text);
  }
}

interface Sent {
  readonly id: string;
  readonly text: string;
  accept(seq: number): void;
  refuse(error: Error): void;
}

function outboxOf(storage = new MemoryStorage()) {
  const sent: Sent[] = [];
  const denied: true[] = [];
  const port = {
    send: (message: { id: string; text: string }) =>
      new Promise<number>((accept, refuse) => sent.push({ ...message, accept, refuse })),
    onChange: () => undefined,
    onDenied: () => denied.push(true),
  };
  return { outbox: new Outbox("s1", port, storage), sent, denied, storage };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const states = (outbox: Outbox) => outbox.items.map(({ text, state }) => [text, state]);

test("messages are sent one at a time, in order, and removed when the board has them", async () => {
  const { outbox, sent, storage } = outboxOf();
  outbox.add("one");
  outbox.add("two");
  assert.equal(sent.length, 0, "not before the session exists");
  outbox.start();
  assert.deepEqual(
    sent.map(({ text }) => text),
    ["one"],
  );
  sent[0]?.accept(5);
  await settled();
  assert.deepEqual(
    sent.map(({ text }) => text),
    ["one", "two"],
  );
  assert.deepEqual(states(outbox), [
    ["one", "sent"],
    ["two", "sending"],
  ]);
  outbox.seen(5);
  outbox.arrived(sent[1]?.id ?? "");
  assert.deepEqual(states(outbox), []);
  assert.equal(storage.texts.size, 0);
});

test("an unsent message survives a reload with its id", async () => {
  const { outbox, sent, storage } = outboxOf();
  outbox.start();
  outbox.add("one");
  const again = outboxOf(storage);
  assert.deepEqual(states(again.outbox), [["one", "kept"]]);
  again.outbox.start();
  assert.equal(again.sent[0]?.id, sent[0]?.id);
});

test("a lost response is repeated with the same id, a refusal waits for the person", async () => {
  const { outbox, sent } = outboxOf();
  outbox.start();
  outbox.add("one");
  sent[0]?.refuse(new TypeError("Failed to fetch"));
  await settled();
  assert.deepEqual(states(outbox), [["one", "waiting"]]);
  outbox.hurry();
  await settled();
  assert.equal(sent[1]?.id, sent[0]?.id);
  sent[1]?.refuse(new Problem(413, "body_too_large", "It is too long."));
  await settled();
  assert.deepEqual(states(outbox), [["one", "failed"]]);
  assert.equal(outbox.items[0]?.problem, "It is too long.");
  outbox.discard(sent[0]?.id ?? "");
  assert.deepEqual(states(outbox), []);
});

test("a missing token pauses the outbox", async () => {
  const { outbox, sent, denied } = outboxOf();
  outbox.start();
  outbox.add("one");
  sent[0]?.refuse(new Problem(401, "unauthenticated", "Who are you?"));
  await settled();
  assert.equal(denied.length, 1);
  assert.deepEqual(states(outbox), [["one", "waiting"]]);
  outbox.hurry();
  await settled();
  assert.equal(sent.length, 2);
});

test("a message of yesterday waits for the person", () => {
  const storage = new MemoryStorage();
  storage.set("callboard.outbox.s1", JSON.stringify([{ id: "a", text: "old", at: Date.now() - 24 * 3_600_000 }]));
  const { outbox, sent } = outboxOf(storage);
  outbox.start();
  assert.deepEqual([states(outbox), sent.length], [[["old", "failed"]], 0]);
});
