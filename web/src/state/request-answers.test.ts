import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { ApiClient } from "../api/api-client.ts";
import { Problem } from "../api/problem.ts";
import type { DecisionInfo } from "../api/wire.ts";
import { useMemoryStorage } from "../testing/memory-storage.ts";
import { answeredHere } from "./answered-here.ts";
import { Repeater } from "./repeater.ts";
import { RequestAnswers } from "./request-answers.ts";

const REQUEST = { id: "r1", purpose: "approval", payload: {}, schema: {}, argumentsHash: null, expiresAt: null };

function answersOf(...responses: (Error | null)[]) {
  const keys: (string | undefined)[] = [];
  const closed: (DecisionInfo | null)[] = [];
  const post = async (_path: string, _body: unknown, { key }: { key?: string }) => {
    keys.push(key);
    const error = responses.shift();
    if (error) throw error;
  };
  const repeater = new Repeater();
  const answers = new RequestAnswers({
    repeater,
    api: { post } as unknown as ApiClient,
    sessionId: "s1",
    onChange: () => undefined,
    onClosed: (_id, decision) => closed.push(decision),
  });
  return { answers, keys, closed, repeater };
}

beforeEach(() => {
  useMemoryStorage();
});

test("an accepted answer is remembered as one of this browser", async () => {
  const { answers } = answersOf(null);
  await answers.send(REQUEST, { approved: true });
  assert.equal(answeredHere.has("r1"), true);
  assert.deepEqual(answers.states.get("r1"), { isBusy: false, problem: "" });
});

test("a refused answer is not, and a different one has another key", async () => {
  const { answers, keys, repeater } = answersOf(
    new Problem(422, "answer_invalid", "No."),
    new TypeError("network"),
    null,
  );
  await answers.send(REQUEST, { approved: true });
  assert.equal(answeredHere.has("r1"), false);
  const sent = answers.send(REQUEST, { approved: false });
  while (!answers.states.get("r1")?.problem) await Promise.resolve();
  assert.equal(answeredHere.has("r1"), true, "it may have arrived");
  repeater.hurry();
  await sent;
  assert.notEqual(keys[0], keys[1]);
  assert.equal(keys[1], keys[2]);
});

test("an answer that came too late says what was decided", async () => {
  const expired = { outcome: "expired", at: null } as const;
  const { answers, closed } = answersOf(new Problem(409, "request_closed", "Closed.", [], expired));
  await answers.send(REQUEST, { approved: true });
  assert.deepEqual(closed, [expired]);
  assert.match(answers.states.get("r1")?.notUsed ?? "", /already closed because it expired\.$/);
  answers.clear();
  assert.equal(answers.states.size, 0);
});
