import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "../api/exact-integer.ts";
import type { BoardEvent } from "../api/wire.ts";
import {
  addDecision,
  addEvent,
  attemptsOf,
  decisionOf,
  differences,
  EMPTY_HISTORY,
  type History,
  join,
  MAX_PARTIALS,
  secondsOf,
  timeSplit,
} from "./history.ts";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
const event = (kind: string, second: number, data: Record<string, unknown> = {}): BoardEvent => ({
  kind,
  at: at(second),
  data,
});
const historyOf = (events: BoardEvent[]) => events.reduce<History>(addEvent, EMPTY_HISTORY);

const EVENTS = [
  event("tool_started", 0),
  event("human_request", 1, { request_id: "r1", payload: { amount: 25, to: "Ada" } }),
  event("human_answer", 4, { request_id: "r1", answer: { approved: true, arguments: { amount: 12, to: "Ada" } } }),
  event("tool_executing", 5, { attempt: 1, maximum: 2 }),
  event("tool_progress", 6, { stage: "a", fraction: 0.2 }),
  event("tool_partial", 6, { value: 1 }),
  event("tool_retrying", 7, { attempt: 1, maximum: 2, error: { category: "transient", message: "Busy." }, delay: 1 }),
  event("tool_executing", 8, { attempt: 2, maximum: 2 }),
  event("tool_partial", 9, { value: 1 }),
  event("tool_progress", 9, { stage: "b", fraction: 0.5, message: "half" }),
  event("tool_result", 10, { status: "succeeded" }),
];

test("ranges of events can be joined anywhere", () => {
  const whole = historyOf(EVENTS);
  for (let place = 0; place <= EVENTS.length; place++) {
    assert.deepEqual(
      join(historyOf(EVENTS.slice(0, place)), historyOf(EVENTS.slice(place))),
      whole,
      `joined at ${place}`,
    );
  }
});

test("a new attempt starts without partial results and progress", () => {
  const { attempts, errors, partials, partialCount } = historyOf(EVENTS);
  assert.deepEqual(
    attempts.map(({ number }) => number),
    [1, 2],
  );
  assert.deepEqual(errors, [{ category: "transient", message: "Busy." }]);
  assert.deepEqual([partials, partialCount], [[1], 1]);
  assert.equal(historyOf(EVENTS.slice(0, 8)).progress, null);
  assert.equal(historyOf(EVENTS.slice(0, 7)).retryIn, 1);
});

test("only the newest partial results are kept", () => {
  const many = historyOf(Array.from({ length: 1000 }, (_, value) => event("tool_partial", 0, { value })));
  assert.deepEqual([many.partials.length, many.partialCount, many.partials.at(-1)], [MAX_PARTIALS, 1000, 999]);
});

test("the time is split into queue, person and work", () => {
  assert.deepEqual(timeSplit(historyOf(EVENTS)), { queue: 2, person: 3, work: 5 });
  assert.equal(secondsOf(historyOf(EVENTS)), 5);
  assert.equal(timeSplit(historyOf(EVENTS.slice(0, 5))), null);
});

test("a decision has its changes and its time", () => {
  const decision = decisionOf(historyOf(EVENTS));
  assert.deepEqual(decision && [decision.kind, decision.waited, decision.isEdited, decision.changes], [
    "approved",
    3,
    true,
    [["amount", 25, 12]],
  ]);
  const answer = (value: unknown) =>
    decisionOf(historyOf([event("human_answer", 1, { request_id: "r", answer: value })]))?.kind;
  assert.deepEqual([{ approved: false }, { status: "failed" }, { colour: "red" }, "text"].map(answer), [
    "rejected",
    "answered",
    "answered",
    "answered",
  ]);
  assert.equal(decisionOf(EMPTY_HISTORY), null);
});

test("the purpose of a request says what its answer is", () => {
  const given = { approved: true, amount: 5 };
  const answer = (data: Record<string, unknown>) =>
    event("human_answer", 2, { request_id: "r", answer: given, ...data });
  const request = (purpose: string) => event("human_request", 1, { request_id: "r", purpose, payload: {} });
  const decided = (...events: BoardEvent[]) => {
    const decision = decisionOf(historyOf(events));
    return decision && [decision.kind, decision.given];
  };
  assert.deepEqual(decided(answer({ purpose: "question" })), ["answered", given]);
  assert.deepEqual(decided(answer({ purpose: "of_the_future" })), ["answered", given]);
  assert.deepEqual(decided(answer({ purpose: "approval" })), ["approved", null]);
  assert.deepEqual(decided(answer({})), ["approved", null], "of an earlier version");
  assert.deepEqual(decided(request("question"), answer({})), ["answered", given], "the request has it too");
  assert.equal(decided(answer({ purpose: "front_end_tool" })), null, "a page answered");
  const response = event("wallet_tx_response", 2, { request_id: "r", status: "failed" });
  assert.deepEqual(decided(response), ["failed", null]);
  assert.deepEqual(
    decisionOf(join(historyOf([request("question")]), historyOf([answer({})])))?.kind,
    "answered",
    "also on another page of events",
  );
});

test("a decision without its answer has its outcome", () => {
  const outcomeOf = (kind: string, outcome: "approved" | "rejected" | "answered", purpose: string) => {
    const asked = historyOf([event(kind, 1, { request_id: "r", purpose, payload: {} })]);
    return decisionOf(addDecision(asked, "r", { outcome, answer: null, at: at(4) }))?.kind;
  };
  assert.equal(outcomeOf("human_request", "rejected", "approval"), "rejected");
  assert.equal(outcomeOf("human_request", "answered", "question"), "answered");
  assert.equal(outcomeOf("wallet_tx_request", "rejected", "wallet"), "rejected");
  assert.equal(outcomeOf("wallet_tx_request", "answered", "wallet"), "answered");
});

test("a decision compares arguments as the tool reads them", () => {
  const asRead = (given: unknown) => ({ to: "Bob", ...(given as object) });
  const events = [
    event("human_request", 1, { request_id: "r1", payload: { amount: 5 } }),
    event("human_answer", 2, {
      request_id: "r1",
      answer: { approved: true, arguments: { amount: 6, to: "Bob" } },
      answered_by: "ada",
    }),
  ];
  const decision = decisionOf(historyOf(events), asRead);
  assert.deepEqual([decision?.changes, decision?.by], [[["amount", 5, 6]], "ada"]);
});

test("a decision that the server tells twice is there once", () => {
  const told = { outcome: "approved", answer: { approved: true }, answered_by: "ada", at: at(4) } as const;
  const asked = historyOf(EVENTS.slice(0, 2));
  const known = addDecision(asked, "r1", told);
  assert.deepEqual([decisionOf(known)?.kind, decisionOf(known)?.by, decisionOf(known)?.waited], ["approved", "ada", 3]);
  assert.deepEqual(addEvent(known, EVENTS[2] as BoardEvent).answered.length, 1);
  assert.deepEqual(addDecision(asked, "r1", { outcome: "expired", at: at(4) }), asked);
});

test("each attempt has its time and its error", () => {
  const attempts = attemptsOf(historyOf(EVENTS));
  assert.deepEqual(
    attempts.map(({ number, seconds, error }) => [number, seconds, error?.message ?? null]),
    [
      [1, 2, "Busy."],
      [2, 2, null],
    ],
  );
  assert.equal(attemptsOf(historyOf(EVENTS.slice(0, 4)))[0]?.seconds, null);
});

test("each error belongs to its attempt, also if the clock stepped back or the attempt began twice", () => {
  const failure = (attempt: number, second: number) =>
    event("tool_retrying", second, { attempt, maximum: 3, error: { category: "transient", message: `${attempt}` } });
  const begin = (attempt: number, second: number) => event("tool_executing", second, { attempt, maximum: 3 });
  const events = [begin(1, 1), failure(1, 2), begin(2, 2), failure(2, 4), begin(3, 3)];
  const errorsOf = (given: BoardEvent[]) => attemptsOf(historyOf(given)).map(({ error }) => error?.message ?? null);
  assert.deepEqual(errorsOf(events), ["1", "2", null]);
  assert.deepEqual(errorsOf([begin(1, 1), begin(1, 5), failure(1, 6), begin(2, 7)]), [null, "1", null]);
});

test("differences name the fields that changed", () => {
  assert.deepEqual(differences({ a: 1, b: [1] }, { b: [1], c: 2 }), [
    ["a", 1, undefined],
    ["c", undefined, 2],
  ]);
  assert.deepEqual(differences(null, "text"), []);
  assert.deepEqual(differences({ plan: { size: 1, name: "a" } }, { plan: { name: "a", size: 2 } }), [
    ["plan › size", 1, 2],
  ]);
});

test("large integers are compared by their digits", () => {
  const [one, other] = ["9007199254740992", "9007199254740993"].map((digits) => parseJson(`{"id":${digits},"n":1}`));
  assert.deepEqual(differences(one, parseJson(JSON.stringify(one))), []);
  assert.deepEqual(
    differences(one, other).map(([name, ...values]) => [name, ...values.map(String)]),
    [["id", "9007199254740992", "9007199254740993"]],
  );
});

test("fields with the names of what every object has are compared", () => {
  assert.deepEqual(differences({}, { constructor: "x" }), [["constructor", undefined, "x"]]);
  assert.deepEqual(differences({ a: { toString: 1 } }, { a: {} }), [["a › toString", 1, undefined]]);
});
