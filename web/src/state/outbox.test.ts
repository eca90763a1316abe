import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";
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
  readonly signal: AbortSignal;
  accept(seq: number): void;
  refuse(error: Error): void;
}

const made: Outbox[] = [];

afterEach(() => {
  for (const outbox of made.splice(0)) {
    for (const { id } of outbox.items) outbox.discard(id);
    outbox.start(); // ends its request
  }
});

function outboxOf(storage = new MemoryStorage()) {
  const sent: Sent[] = [];
  const denied: true[] = [];
  const port = {
    send: (message: { id: string; text: string }, signal: AbortSignal) =>
      new Promise<number>((accept, refuse) => {
        sent.push({ ...message, signal, accept, refuse });
        signal.addEventListener("abort", () => refuse(signal.reason));
      }),
    onChange: () => undefined,
    onDenied: () => denied.push(true),
  };
  const outbox = new Outbox("s1", port, storage);
  made.push(outbox);
  return { outbox, sent, denied, storage };
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

test("a message that the board already has is removed as soon as it is accepted", async () => {
  const { outbox, sent, storage } = outboxOf();
  outbox.start();
  outbox.add("one");
  outbox.seen(7); // a snapshot with the message, whose response was lost
  sent[0]?.accept(5);
  await settled();
  assert.deepEqual(states(outbox), []);
  assert.equal(storage.texts.size, 0);
});

test("tabs keep each other's messages", async () => {
  const storage = new MemoryStorage();
  const one = outboxOf(storage);
  const other = outboxOf(storage);
  one.outbox.add("one");
  other.outbox.add("other");
  assert.deepEqual(states(outboxOf(storage).outbox), [
    ["one", "kept"],
    ["other", "kept"],
  ]);
  other.outbox.start();
  other.sent[0]?.accept(1);
  await settled();
  assert.deepEqual(states(outboxOf(storage).outbox), [["one", "kept"]]);
  one.outbox.discard(one.outbox.items[0]?.id ?? "");
  assert.equal(storage.texts.size, 0);
});

test("a message over a dead connection is sent again over the next one", async () => {
  const { outbox, sent } = outboxOf();
  outbox.start();
  outbox.add("one");
  outbox.start(); // a new connection
  await settled();
  assert.deepEqual([sent.length, sent[0]?.signal.aborted, states(outbox)], [2, true, [["one", "sending"]]]);
  assert.equal(sent[1]?.id, sent[0]?.id);
});

test("a message survives a cut of minutes under the same id", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { outbox, sent } = outboxOf();
    outbox.start();
    outbox.add("one");
    for (let second = 0; second < 600; second++) {
      await settled();
      mock.timers.tick(1_000); // without a response
    }
    assert.ok(sent.length > 10 && sent.length < 60, `${sent.length} attempts in ten minutes`);
    assert.equal(new Set(sent.map(({ id }) => id)).size, 1);
    outbox.hurry();
    await settled();
    sent.at(-1)?.accept(1);
    await settled();
    assert.deepEqual(states(outbox), [["one", "sent"]]);
  } finally {
    mock.timers.reset();
  }
});
