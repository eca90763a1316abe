import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";
import type { ApiClient } from "./api-client.ts";
import { BoardStream } from "./board-stream.ts";
import { Problem } from "./problem.ts";

/** A server whose streams are written by the test. */
class FakeApi {
  readonly queries: unknown[] = [];
  readonly #answers: (() => Response)[];
  isDead = false;
  /** The number of the newest event of the session. */
  newest = 0;
  probes = 0;

  constructor(...answers: (() => Response)[]) {
    this.#answers = answers;
  }

  async open(_path: string, query: unknown, signal: AbortSignal): Promise<Response> {
    this.queries.push(query);
    const answer = this.#answers.shift();
    if (answer !== undefined) return answer();
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  }

  async get(): Promise<unknown> {
    this.probes++;
    if (this.isDead) throw new TypeError("Failed to fetch");
    return { last_seq: this.newest };
  }
}

const frames = (text: string) => () => new Response(text);

function streamOf(api: FakeApi) {
  const events: unknown[] = [];
  const states: string[] = [];
  const failures: Problem[] = [];
  const stream = new BoardStream(api as unknown as ApiClient, "s1", {
    onEvent: (kind, event) => events.push([kind, event]),
    onState: (state) => states.push(state),
    onFailure: (problem) => failures.push(problem),
  });
  return { stream, events, states, failures };
}

const ends: (() => void)[] = [];

afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a stream resumes after its last event and repeats none", async () => {
  const one = 'id: 1\nevent: text\ndata: {"n":1}\n\nid: 2\nevent: text\ndata: {"n":2}\n\n';
  const two = 'id: 2\nevent: text\ndata: {"n":2}\n\nid: 3\nevent: text\ndata: {"n":3}\n\n';
  const api = new FakeApi(frames(one), frames(two));
  const { stream, events, states } = streamOf(api);
  stream.open();
  while (!states.includes("waiting")) await settled();
  stream.retry();
  while (events.length < 3) await settled();
  stream.close();
  assert.deepEqual(
    events.map((each) => (each as [string, { n: number }])[1].n),
    [1, 2, 3],
  );
  assert.deepEqual(api.queries, [{ session_id: "s1" }, { session_id: "s1", after: 2 }]);
});

test("a snapshot replaces the cursor, and unreadable data is skipped", async () => {
  const text =
    'id: 9\nevent: snapshot\ndata: {"last_seq":9}\n\nid: 4\nevent: resync\ndata: {}\n\nid: 5\nevent: text\ndata: {broken\n\n';
  const { stream, events, states } = streamOf(new FakeApi(frames(text)));
  stream.open();
  while (!states.includes("waiting")) await settled();
  assert.equal(stream.cursor, 5);
  assert.equal(events.length, 2);
  stream.close();
});

test("a refusal ends the stream, and a cursor of another store is forgotten", async () => {
  const refuse = (status: number, code: string) => () => {
    throw new Problem(status, code, code);
  };
  const first = streamOf(new FakeApi(refuse(404, "session_not_found")));
  first.stream.open();
  while (first.failures.length === 0) await settled();
  assert.equal(first.failures[0]?.code, "session_not_found");
  const api = new FakeApi(refuse(409, "cursor_ahead"));
  const second = streamOf(api);
  second.stream.cursor = 7;
  second.stream.open();
  while (!second.states.includes("waiting")) await settled();
  second.stream.retry();
  await settled();
  assert.deepEqual(api.queries, [{ session_id: "s1", after: 7 }, { session_id: "s1" }]);
  second.stream.close();
});

test("integers of an event keep their digits", async () => {
  const data = '{"id":9007199254740993}';
  const { stream, events } = streamOf(new FakeApi(frames(`id: 1\nevent: text\ndata: ${data}\n\n`)));
  ends.push(() => stream.close());
  stream.open();
  while (events.length === 0) await settled();
  assert.equal(JSON.stringify((events[0] as [string, unknown])[1]), data);
});

test("a retry opens one stream, however often it is asked for, and closing ends it", async () => {
  const api = new FakeApi(frames(""));
  const signals: AbortSignal[] = [];
  const open = api.open.bind(api);
  api.open = async (path, query, signal) => {
    signals.push(signal);
    return open(path, query, signal);
  };
  const { stream, states } = streamOf(api);
  ends.push(() => stream.close());
  stream.open();
  stream.retry();
  while (!states.includes("waiting")) await settled();
  for (let click = 0; click < 5; click++) stream.retry();
  await settled();
  assert.equal(signals.length, 2);
  assert.equal(states.at(-1), "reconnecting");
  stream.close();
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, true],
  );
});

test("a closed stream is not opened again", async () => {
  const api = new FakeApi(frames(""), frames(""));
  const { stream, states } = streamOf(api);
  ends.push(() => stream.close());
  stream.open();
  while (!states.includes("waiting")) await settled();
  stream.close();
  stream.retry();
  stream.open();
  await settled();
  assert.equal(api.queries.length, 1);
  assert.equal(states.at(-1), "waiting");
});

test("a dead connection is noticed within five seconds", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const silent = () => new Response(new ReadableStream());
    const api = new FakeApi(silent);
    let isAborted = false;
    const open = api.open.bind(api);
    api.open = async (path, query, signal) => {
      const response = await open(path, query, signal);
      signal.addEventListener("abort", () => (isAborted = true));
      return response;
    };
    const { stream, states } = streamOf(api);
    stream.open();
    while (!states.includes("connected")) await settled();
    mock.timers.tick(2_000); // silent, and alive
    await settled();
    assert.equal(isAborted, false);
    api.isDead = true;
    mock.timers.tick(2_000);
    await settled();
    assert.equal(isAborted, true);
    stream.close();
  } finally {
    mock.timers.reset();
  }
});

/** A stream that is open and whose time is controlled by the test. */
async function watched(isHidden = false) {
  mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const clock = mock.method(performance, "now", () => now);
  Object.defineProperty(globalThis, "document", {
    configurable: true,
    value: { hidden: isHidden, addEventListener: () => undefined },
  });
  let writer: ReadableStreamDefaultController<Uint8Array> | undefined;
  const api = new FakeApi(() => new Response(new ReadableStream({ start: (made) => void (writer = made) })));
  const open = api.open.bind(api);
  let isAborted = false;
  api.open = async (path, query, signal) => {
    signal.addEventListener("abort", () => (isAborted = true));
    return open(path, query, signal);
  };
  const { stream, states } = streamOf(api);
  ends.push(() => {
    stream.close();
    clock.mock.restore();
    mock.timers.reset();
    Reflect.deleteProperty(globalThis, "document");
  });
  stream.open();
  while (!states.includes("connected")) await settled();
  return {
    api,
    isDead: () => isAborted,
    send: async (text: string) => {
      writer?.enqueue(new TextEncoder().encode(text));
      await settled();
    },
    pass: async (seconds: number) => {
      for (let step = 0; step < seconds * 10; step++) {
        now += 100;
        mock.timers.tick(100);
        await settled();
      }
    },
  };
}

test("a stream that does not receive an event of the server is dead, although requests work", async () => {
  const { api, isDead, send, pass } = await watched();
  await send("id: 3\nevent: text\ndata: {}\n\n");
  api.newest = 3;
  await pass(30);
  assert.equal(isDead(), false, "it is silent because nothing happens");
  api.newest = 4;
  await pass(2);
  await send("id: 4\nevent: text\ndata: {}\n\n");
  await pass(10);
  assert.equal(isDead(), false, "the event was late");
  api.newest = 5;
  await pass(4);
  assert.equal(isDead(), true);
});

test("an idle page sends a request every two seconds", async () => {
  const { api, isDead, send, pass } = await watched();
  for (let quarter = 0; quarter < 4; quarter++) {
    await pass(15);
    await send(":\n\n"); // the heartbeat of the server
  }
  assert.equal(isDead(), false);
  assert.ok(api.probes <= 30, `${api.probes} requests in a minute`);
});

test("a hidden page sends no requests, and reconnects without heartbeats", async () => {
  const { api, isDead, send, pass } = await watched(true);
  for (let quarter = 0; quarter < 4; quarter++) {
    await pass(15);
    await send(":\n\n");
  }
  assert.deepEqual([isDead(), api.probes], [false, 0]);
  await pass(50);
  assert.equal(isDead(), true);
});
