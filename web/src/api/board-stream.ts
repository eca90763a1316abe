/**
 * The events of a session while the page is open.
 *
 * They are read with fetch, which can send a token. After a lost connection the stream resumes after the last event, so
 * that none is lost or repeated. A connection that is silent is checked with a request that the server answers at once,
 * because the heartbeats of the server are too rare to notice a dead connection soon. The response has the number of the
 * newest event: a stream that does not receive that event is dead too, even if other requests work.
 */
import type { ApiClient, Query } from "./api-client.ts";
import { parseJson } from "./exact-integer.ts";
import { Problem } from "./problem.ts";
import { SseParser, type Frame } from "./sse-parser.ts";
import { TabRotation } from "./tab-rotation.ts";
import type { BoardEvent, SessionInfo } from "./wire.ts";

export type ConnectionState = "connecting" | "connected" | "reconnecting" | "waiting" | "lost";

/** What a stream reports. */
export interface BoardStreamListener {
  /** An event, or a snapshot (`snapshot`, `resync`), or the end of the session (`deleted`). */
  onEvent(kind: string, event: unknown): void;
  /** The state of the connection, and for `waiting` the milliseconds until the next attempt. */
  onState(state: ConnectionState, delay: number): void;
  /** The problem that ended the stream for good. */
  onFailure(problem: Problem): void;
}

const SILENCE = 2_000; // milliseconds without a byte after which the connection is checked
const PROBE = 2_000; // milliseconds for the response to a check
const LATE = 1_000; // milliseconds in which an event arrives that the server already has
const OPENING = 4_500; // milliseconds for the response to a request for the stream
const SLOW_OPENING = 10_000; // the same after some failures, for slow connections
const MAX_SILENCE = 45_000; // milliseconds without a byte, also of heartbeats, after which the page reconnects
const MAX_DELAY = 15_000; // milliseconds between two attempts
const SETTLED = 2_000; // milliseconds after which a connection resets the delay
const RETRIED = new Set([408, 425, 429]);

export class BoardStream {
  readonly #api: ApiClient;
  readonly #sessionId: string;
  readonly #listener: BoardStreamListener;
  readonly #closing = new AbortController();
  #connection = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #state: ConnectionState | undefined;
  #check: (() => void) | null = null;
  readonly #rotation = new TabRotation(() => this.#rest());
  #isResting = false;
  #heard = performance.now();
  /** The number of the newest event that was received. */
  cursor: number | undefined;

  constructor(api: ApiClient, sessionId: string, listener: BoardStreamListener) {
    this.#api = api;
    this.#sessionId = sessionId;
    this.#listener = listener;
  }

  /** Connect, and stay connected until `close`, except while the tab is hidden and rests. */
  open(): void {
    const wake = () => {
      if (globalThis.document?.hidden) return this.#rotation.check();
      this.#rotation.use();
      if (this.#state === "waiting") this.retry();
      else this.#check?.();
    };
    const { signal } = this.#closing;
    globalThis.addEventListener?.("online", wake, { signal });
    globalThis.document?.addEventListener("visibilitychange", wake, { signal });
    this.#rotation.use();
    void this.#run();
  }

  close(): void {
    this.#closing.abort();
    this.#rotation.close();
    clearTimeout(this.#timer);
  }

  /** Milliseconds since the last byte of the server. */
  get silence(): number {
    return performance.now() - this.#heard;
  }

  /** Connect now instead of later, if the stream waits for its next attempt. */
  retry(): void {
    if (this.#state !== "waiting") return;
    clearTimeout(this.#timer);
    this.#isResting = false;
    void this.#run();
  }

  /** Leave the connection to other tabs. */
  #rest(): void {
    this.#isResting = true;
    clearTimeout(this.#timer);
    this.#connection.abort();
  }

  async #run(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#report(this.#failures > 0 ? "reconnecting" : "connecting");
    try {
      await this.#read();
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      if (error instanceof Problem && this.#isFinal(error)) {
        this.close();
        this.#listener.onFailure(error);
        return;
      }
    }
    if (this.#closing.signal.aborted) return;
    if (this.#isResting) return this.#report("waiting");
    const delay = Math.min(MAX_DELAY, 500 * 2 ** this.#failures++) * (0.5 + Math.random() / 2);
    this.#report("waiting", delay);
    this.#timer = setTimeout(() => void this.#run(), delay);
  }

  /** Whether a problem ends the stream. A cursor of another store is forgotten instead. */
  #isFinal({ status, code }: Problem): boolean {
    if (code === "cursor_ahead") {
      this.cursor = undefined;
      return false;
    }
    return status >= 400 && status < 500 && !RETRIED.has(status);
  }

  async #read(): Promise<void> {
    const connection = new AbortController();
    this.#connection = connection;
    this.#closing.signal.addEventListener("abort", () => connection.abort(), { signal: connection.signal });
    const query: Query = { session_id: this.#sessionId, ...(this.cursor === undefined ? {} : { after: this.cursor }) };
    let watch = setTimeout(() => connection.abort(), this.#failures < 3 ? OPENING : SLOW_OPENING);
    const watchAgain = () => {
      clearTimeout(watch);
      if (!connection.signal.aborted) watch = setTimeout(() => void check(), SILENCE);
    };
    const check = async () => {
      const before = this.#heard;
      const isAlive = await this.#isAlive(this.silence);
      if (!isAlive && this.#heard === before) connection.abort();
      watchAgain();
    };
    try {
      const response = await this.#api.open("/api/chat/stream", query, connection.signal);
      if (response.body === null) return;
      this.#heard = performance.now();
      this.#report("connected");
      this.#check = () => void check();
      watchAgain();
      const parser = new SseParser();
      const decoder = new TextDecoder();
      const since = performance.now();
      const reader = response.body.getReader();
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
        if (performance.now() - since > SETTLED) this.#failures = 0;
        this.#heard = performance.now();
        watchAgain();
        for (const frame of parser.push(decoder.decode(chunk.value, { stream: true }))) this.#take(frame);
      }
    } finally {
      this.#check = null;
      clearTimeout(watch);
      connection.abort();
    }
  }

  /** Check a silent connection. A hidden page sends no requests, and trusts the heartbeats. */
  async #isAlive(silence: number): Promise<boolean> {
    if (silence > MAX_SILENCE) return false;
    if (globalThis.document?.hidden) return true;
    try {
      const path = `/api/sessions/${encodeURIComponent(this.#sessionId)}`;
      const { last_seq: newest } = await this.#api.get<SessionInfo>(path, {}, AbortSignal.timeout(PROBE));
      if (newest === undefined || this.cursor === undefined || newest <= this.cursor) return true;
      await new Promise((resolve) => setTimeout(resolve, LATE));
      return newest <= this.cursor;
    } catch (error) {
      return error instanceof Problem; // any response of the server is a sign of life
    }
  }

  #take({ id, event, data }: Frame): void {
    if (id !== undefined && /^\d+$/.test(id)) {
      const seq = Number(id);
      const isWhole = event === "snapshot" || event === "resync";
      const isLast = event === "goodbye" || event === "deleted";
      if (!isWhole && this.cursor !== undefined && seq < this.cursor) return;
      if (!isWhole && !isLast && data !== undefined && seq === this.cursor) return;
      this.cursor = seq;
    }
    if (data === undefined) return;
    const read = parse(data);
    if (read !== undefined) this.#listener.onEvent(event, read);
  }

  #report(state: ConnectionState, delay = 0): void {
    this.#state = state;
    this.#listener.onState(state, delay);
  }
}

function parse(data: string): unknown {
  try {
    return parseJson(data) as BoardEvent;
  } catch {
    return undefined;
  }
}
