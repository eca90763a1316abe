import assert from "node:assert/strict";
import { test } from "node:test";
import { useMemoryStorage } from "../testing/memory-storage.ts";
import { keepSession, nextSessionId } from "./next-session.ts";
import { Outbox, type OutboxPort } from "./outbox.ts";
import { forgetPerson } from "./sign-out.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A server that never responds. */
function silentPort() {
  const sent: { text: string; signal: AbortSignal }[] = [];
  const port: OutboxPort = {
    send: ({ text }, signal) =>
      new Promise((_, refuse) => {
        sent.push({ text, signal });
        signal.addEventListener("abort", () => refuse(signal.reason as Error));
      }),
    onChange: () => undefined,
    onDenied: () => undefined,
  };
  return { sent, port };
}

test("the next person neither sees nor sends what was not sent before the sign-out", async () => {
  const { local, session } = useMemoryStorage();
  const { sent, port } = silentPort();
  const begun = nextSessionId();
  const before = new Outbox(begun, port);
  before.add("a secret");
  keepSession(begun);
  const hidden = new Outbox("s1", port); // of a conversation that is no longer shown
  hidden.start();
  hidden.add("another secret");
  await settled();
  session.set("callboard.draft.s1", "a draft");
  local.set("callboard.theme", "dark");

  forgetPerson();
  await settled();
  assert.deepEqual([...local.keys()], ["callboard.theme"]);
  assert.deepEqual([...session.keys()], []);
  assert.deepEqual([before.items, hidden.items], [[], []]);
  assert.equal(sent[0]?.signal.aborted, true);
  const next = nextSessionId();
  assert.notEqual(next, begun);
  assert.deepEqual(new Outbox(next, port).items, []);
  before.start();
  hidden.hurry();
  await settled();
  assert.deepEqual(
    sent.map(({ text }) => text),
    ["another secret"],
    "nothing is sent after the sign-out",
  );
});

test("the texts are forgotten although the browser forbids its storage", () => {
  useMemoryStorage({ isForbidden: true });
  const outbox = new Outbox("s1", silentPort().port);
  outbox.add("a secret");
  forgetPerson();
  assert.deepEqual(outbox.items, []);
});
