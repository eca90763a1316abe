import assert from "node:assert/strict";
import { test } from "node:test";
import { entryOf } from "./board-entry.ts";
import { layOut } from "./board-layout.ts";
import { BoardTracks } from "./board-tracks.ts";

let seq = 0;
const event = (second: number, kind: string, data: Record<string, unknown> = {}) =>
  entryOf({ seq: ++seq, kind, at: new Date(second * 1000).toISOString(), data });
const call = { execution_id: "x1", tool: "pay" };

const EVENTS = [
  event(0, "user_input", { text: "pay" }),
  event(1, "turn_started", { turn_id: "t1" }),
  event(2, "tool_started", { ...call, arguments: { amount: 1 } }),
  event(3, "human_request", { ...call, request_id: "r1" }),
  event(4, "turn_paused", { turn_id: "t1" }),
  event(8, "human_answer", { request_id: "r1", answer: { approved: true } }),
  event(9, "tool_executing", { ...call, attempt: 1, maximum: 2 }),
  event(10, "tool_progress", { ...call, stage: "sending", fraction: 0.5 }),
  event(11, "tool_retrying", { ...call, attempt: 1, maximum: 2, error: { category: "transient", message: "no" } }),
  event(12, "tool_executing", { ...call, attempt: 2, maximum: 2 }),
  event(14, "tool_result", { ...call, status: "failed", error: { category: "execution", message: "broken" } }),
  event(15, "turn_started", { turn_id: "t1" }),
  event(16, "turn_finished", { turn_id: "t1" }),
  event(17, "system_notice", { message: "logged out" }),
];

const CALL = [
  ["queue", 2, 3, 0, false],
  ["person", 3, 8, 0, false],
  ["queue", 8, 9, 0, false],
  ["work", 9, 11, 1, true],
  ["pause", 11, 12, 1, false],
  ["work", 12, 14, 2, true],
];

function segments(tracks: BoardTracks, id: string) {
  const track = tracks.calls.get(id) ?? tracks.turns.get(id) ?? tracks.requests.get(id);
  assert.ok(track);
  return tracks
    .segments(track)
    .map(({ phase, from, to, attempt, failed }) => [
      phase,
      from / 1000,
      to === null ? null : to / 1000,
      attempt,
      failed,
    ]);
}

test("a call has its queue, its wait for a person, and each attempt, however its events are loaded", () => {
  for (let split = 0; split <= EVENTS.length; split++) {
    const tracks = new BoardTracks();
    for (const entry of EVENTS.slice(split)) tracks.add(entry);
    for (const entry of EVENTS.slice(0, split).toReversed()) tracks.add(entry, true);
    assert.deepEqual(segments(tracks, "x1"), CALL, `split at ${split}`);
    assert.deepEqual(segments(tracks, "r1"), [["person", 3, 8, 0, false]]);
    assert.deepEqual(segments(tracks, "t1"), [
      ["work", 1, 4, 0, false],
      ["person", 4, 15, 0, false],
      ["work", 15, 16, 0, false],
    ]);
    assert.equal(tracks.points.people.length, 1);
    assert.equal(tracks.points.system.length, 1);
  }
});

test("what lasts has no end, and a part of a history is a part of a track", () => {
  const tracks = new BoardTracks();
  for (const entry of EVENTS.slice(7, 10)) tracks.add(entry);
  assert.deepEqual(segments(tracks, "x1"), [
    ["work", 11, 11, 1, true],
    ["pause", 11, 12, 1, false],
    ["work", 12, null, 2, false],
  ]);
  const open = new BoardTracks();
  for (const entry of EVENTS.slice(0, 5)) open.add(entry);
  assert.deepEqual(segments(open, "x1").at(-1), ["person", 3, null, 0, false]);
  assert.deepEqual(segments(open, "r1"), [["person", 3, null, 0, false]]);
});

test("a call that ends at once is visible", () => {
  const tracks = new BoardTracks();
  tracks.add(event(1, "tool_started", { execution_id: "x9", tool: "a" }));
  tracks.add(event(1, "tool_result", { execution_id: "x9", tool: "a", status: "failed" }));
  assert.deepEqual(segments(tracks, "x9"), [["queue", 1, 1, 0, true]]);
});

test("events that are dropped leave no track behind", () => {
  const tracks = new BoardTracks();
  for (const entry of EVENTS) tracks.add(entry);
  tracks.dropBefore(EVENTS[12]?.seq ?? 0);
  assert.equal(tracks.calls.size, 0);
  assert.equal(tracks.requests.size, 0);
  assert.equal(tracks.turns.size, 1);
  assert.equal(tracks.points.people.length, 0);
  assert.equal(tracks.points.system.length, 1);
});

test("the event at a time of a track is its newest before", () => {
  const tracks = new BoardTracks();
  for (const entry of EVENTS) tracks.add(entry);
  const track = tracks.calls.get("x1");
  assert.ok(track);
  assert.equal(tracks.entryAt(track, 10_500)?.kind, "tool_progress");
  assert.equal(tracks.entryAt(track, 0)?.kind, "tool_started");
  assert.equal(tracks.entryAt(track, 99_000)?.kind, "tool_result");
});

test("tracks that overlap are in different rows, and idle times are found", () => {
  const tracks = new BoardTracks();
  const spans: [string, number, number][] = [
    ["a", 0, 10],
    ["b", 5, 7],
    ["c", 7, 8],
    ["d", 11, 12],
    ["e", 100, 160],
  ];
  const events = spans.flatMap(([id, from, to]) => [
    event(from, "tool_executing", { execution_id: id, tool: id, attempt: 1 }),
    event(to, "tool_result", { execution_id: id, tool: id, status: "succeeded" }),
  ]);
  for (const entry of events) tracks.add(entry);
  const { rows, gaps } = layOut(tracks, { from: 0, to: 200_000 });
  assert.deepEqual(
    rows.calls.map((row) => row.map(({ id }) => id)),
    [
      ["a", "d", "e"],
      ["b", "c"],
    ],
  );
  assert.deepEqual(gaps, [
    { from: 12_000, to: 100_000 },
    { from: 160_000, to: 200_000 },
  ]);
  assert.deepEqual(
    layOut(tracks, { from: 0, to: 1 }, ({ id }) => id === "c").rows.calls[0]?.map(({ id }) => id),
    ["c"],
  );
});

test("a time in which a person is waited for is idle, and one in which a call works is not", () => {
  const tracks = new BoardTracks();
  tracks.add(event(0, "tool_started", { execution_id: "x", tool: "a" }));
  tracks.add(event(1, "human_request", { execution_id: "x", tool: "a", request_id: "r" }));
  tracks.add(event(100, "human_answer", { request_id: "r" }));
  tracks.add(event(101, "tool_executing", { execution_id: "x", tool: "a", attempt: 1 }));
  tracks.add(event(200, "tool_result", { execution_id: "x", tool: "a", status: "succeeded" }));
  assert.deepEqual(layOut(tracks, { from: 0, to: 200_000 }).gaps, [{ from: 1_000, to: 100_000 }]);
});
