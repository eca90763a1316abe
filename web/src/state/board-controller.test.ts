import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { ReactiveControllerHost } from "lit";
import type { ApiClient, Query } from "../api/api-client.ts";
import { Problem } from "../api/problem.ts";
import type { BoardEvent } from "../api/wire.ts";
import { until } from "../testing/until.ts";
import { BoardController, MAX_EVENTS } from "./board-controller.ts";
import { NO_FILTER } from "./board-filter.ts";

const frames = globalThis.requestAnimationFrame;
const cancelFrames = globalThis.cancelAnimationFrame;
let opened: BoardController | null = null;

beforeEach(() => {
  globalThis.requestAnimationFrame = (action) => setTimeout(() => action(0), 0) as unknown as number;
  globalThis.cancelAnimationFrame = (id) => clearTimeout(id);
});
afterEach(() => {
  opened?.hostDisconnected();
  globalThis.requestAnimationFrame = frames;
  globalThis.cancelAnimationFrame = cancelFrames;
});

const event = (seq: number): BoardEvent => ({
  seq,
  kind: "system_notice",
  at: new Date(seq * 1000).toISOString(),
  data: { message: `notice ${seq}` },
});

/** A board of so many events on a server with small pages, and with a stream that the test writes. */
class FakeServer {
  readonly base = "";
  page = 100;
  readonly queries: Query[] = [];
  count: number;
  problem: Problem | null = null;
  #failures: number;
  #stream: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor(count: number, failures = 0) {
    this.count = count;
    this.#failures = failures;
  }

  async get(path: string, query: Query = {}): Promise<unknown> {
    if (path !== "/api/events") return { title: "Lamps" };
    this.queries.push(query);
    if (this.problem !== null) throw this.problem;
    if (query["before"] !== undefined && this.#failures-- > 0) throw new TypeError("Failed to fetch");
    const end = Math.min(this.count, Number(query["before"] ?? this.count + 1) - 1);
    const first = Math.max(1, end - Math.min(Number(query["limit"]), this.page) + 1);
    const events = Array.from({ length: Math.max(0, end - first + 1) }, (_, index) => event(first + index));
    return { events, next: first > 1 ? first : null };
  }

  async open(_path: string, query: Query): Promise<Response> {
    this.queries.push(query);
    return new Response(new ReadableStream({ start: (made) => void (this.#stream = made) }));
  }

  get isOpen(): boolean {
    return this.#stream !== null;
  }

  post(kind: string, data: unknown, id: number): void {
    this.#stream?.enqueue(new TextEncoder().encode(`id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`));
  }
}

function boardOf(server: FakeServer): BoardController {
  const host = { addController: () => undefined, requestUpdate: () => undefined } as unknown as ReactiveControllerHost;
  opened = new BoardController(host, server as unknown as ApiClient);
  return opened;
}

const seqs = (board: BoardController) => [...board.log].map(({ seq }) => seq);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test("all pages are loaded, and the stream continues without a gap or a repeat", async () => {
  const server = new FakeServer(250);
  const board = boardOf(server);
  board.open("s1");
  await until(() => server.isOpen && !board.isLoading && board.log.length === 250);
  assert.deepEqual(
    server.queries.find((query) => "after" in query),
    { session_id: "s1", after: 250 },
  );
  server.post("system_notice", event(251), 251);
  server.post("system_notice", event(251), 251);
  server.post("system_notice", event(252), 252);
  await until(() => board.total === 252);
  assert.deepEqual(seqs(board), upTo(252));
  assert.equal(board.shown.entries.length, 252);
  assert.equal(board.tracks.points.system.length, 252);
  assert.equal(board.title, "Lamps");
  assert.equal(board.entry(17)?.text, "notice 17");
});

test("a page that cannot be loaded is asked for again", async () => {
  const board = boardOf(new FakeServer(150, 1));
  board.open("s1");
  await until(() => board.state === "ready" && !board.isLoading);
  assert.deepEqual(seqs(board), upTo(150));
});

test("a filter selects loaded and new events", async () => {
  const server = new FakeServer(120);
  const board = boardOf(server);
  board.open("s1");
  board.setFilter({ ...NO_FILTER, text: "notice 12" });
  await until(() => server.isOpen && !board.isLoading && board.isScanned && board.log.length === 120);
  assert.deepEqual(
    [...board.shown.entries].map(({ seq }) => seq),
    [12, 112, 120],
  );
  server.post("system_notice", event(121), 121);
  await until(() => board.total === 121);
  assert.deepEqual(
    [...board.shown.entries].map(({ seq }) => seq),
    [12, 112, 120, 121],
  );
});

test("a gap, a new store and a deleted conversation are noticed", async () => {
  const server = new FakeServer(10);
  const board = boardOf(server);
  board.open("s1");
  await until(() => server.isOpen && board.log.length === 10);
  server.count = 30;
  server.post("system_notice", event(20), 20);
  await until(() => board.log.length === 30);
  assert.deepEqual(seqs(board), upTo(30));
  await until(() => board.connection === "connected");
  server.count = 5;
  server.post("resync", { last_seq: 5 }, 5);
  await until(() => board.log.length === 5);
  await until(() => board.connection === "connected");
  server.post("deleted", {}, 6);
  await until(() => board.state === "deleted");
});

test("a conversation that is missing and a server that refuses are different", async () => {
  const server = new FakeServer(1);
  const board = boardOf(server);
  server.problem = new Problem(404, "session_not_found", "There is no such session.");
  board.open("s1");
  await until(() => board.state === "missing");
  server.problem = new Problem(401, "unauthenticated", "A token is required.");
  board.retry();
  await until(() => board.state === "failed");
  assert.equal(board.problem, "A token is required.");
  server.problem = null;
  board.retry();
  await until(() => board.state === "ready");
});

test("a whole event is loaded once", async () => {
  const server = new FakeServer(10);
  const board = boardOf(server);
  board.open("s1");
  await until(() => board.state === "ready");
  const before = server.queries.filter(({ limit }) => limit === 1).length;
  assert.deepEqual((await board.whole(4))?.data, { message: "notice 4" });
  assert.deepEqual((await board.whole(4))?.seq, 4);
  assert.equal(server.queries.filter(({ limit }) => limit === 1).length, before + 1);
  assert.equal(await board.whole(99), null);
});

test("the oldest events are forgotten when there are too many", async () => {
  const server = new FakeServer(MAX_EVENTS + 700);
  server.page = 500;
  const board = boardOf(server);
  board.open("s1");
  await until(() => server.isOpen && board.state === "ready" && !board.isLoading && board.isScanned);
  assert.equal(board.log.length, MAX_EVENTS);
  assert.equal(board.isCut, true);
  server.post("system_notice", event(MAX_EVENTS + 701), MAX_EVENTS + 701);
  await until(() => board.total === MAX_EVENTS + 701);
  assert.equal(board.log.length, MAX_EVENTS * 0.9);
  assert.equal(board.shown.entries.length, MAX_EVENTS * 0.9);
  assert.equal(board.tracks.points.system.first?.seq, board.log.first?.seq);
});
