/**
 * The events of a session while the page is open.
 *
 * They are read with fetch, which can send a token. After a lost connection the stream resumes after the last event, so
 * that none is lost or repeated. A connection that is silent is checked with a request that the server answers at once,
 * because the heartbeats of the server are too rare to notice a dead connection soon.
 */
import type { ApiClient, Query } from "./api-client.ts";
import { Problem } from "./problem.ts";
import { SseParser, type Frame } from "./sse-parser.ts";
import type { BoardEvent } from "./wire.ts";

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
const PROBE = 2_500; // milliseconds for the response to a check
const HIDDEN_SILENCE = 45_000; // milliseconds without a byte after which a hidden page reconnects
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
  /** The number of the newest event that was received. */
  cursor: number | undefined;

  constructor(api: ApiClient, sessionId: string, listener: BoardStreamListener) {
    this.#api = api;
    this.#sessionId = sessionId;
    this.#listener = listener;
  }

  /** Connect, and stay connected until `close`. */
  open(): void {
    const wake = () => {
      if (this.#state === "waiting") this.retry();
    };
    const { signal } = this.#closing;
    globalThis.addEventListener?.("online", wake, { signal });
    globalThis.document?.addEventListener("visibilitychange", wake, { signal });
    void this.#run();
  }

  close(): void {
    this.#closing.abort();
    this.#connection.abort();
    clearTimeout(this.#timer);
  }

  /** Connect now instead of later. */
  retry(): void {
    clearTimeout(this.#timer);
    if (!this.#closing.signal.aborted) void this.#run();
  }

  async #run(): Promise<void> {
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
    const query: Query = { session_id: this.#sessionId, ...(this.cursor === undefined ? {} : { after: this.cursor }) };
    let heard = performance.now();
    let watch = setTimeout(() => connection.abort(), SILENCE + PROBE);
    const watchAgain = () => {
      clearTimeout(watch);
      if (!connection.signal.aborted) watch = setTimeout(() => void check(), SILENCE);
    };
    const check = async () => {
      if (!(await this.#isAlive(performance.now() - heard))) connection.abort();
      watchAgain();
    };
    try {
      const response = await this.#api.open("/api/chat/stream", query, connection.signal);
      if (response.body === null) return;
      this.#report("connected");
      watchAgain();
      const parser = new SseParser();
      const decoder = new TextDecoder();
      const since = performance.now();
      const reader = response.body.getReader();
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
        if (performance.now() - since > SETTLED) this.#failures = 0;
        heard = performance.now();
        watchAgain();
        for (const frame of parser.push(decoder.decode(chunk.value, { stream: true }))) this.#take(frame);
      }
    } finally {
      clearTimeout(watch);
      connection.abort();
    }
  }

  /** Check a silent connection. A hidden page sends no requests, and trusts the heartbeats. */
  async #isAlive(silence: number): Promise<boolean> {
    if (globalThis.document?.hidden) return silence < HIDDEN_SILENCE;
    try {
      // a page of another origin may not read the probe of the server
      const path = this.#api.base === "" ? "/healthz" : `/api/sessions/${encodeURIComponent(this.#sessionId)}`;
      await this.#api.get(path, {}, AbortSignal.timeout(PROBE));
      return true;
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
    return JSON.parse(data) as BoardEvent;
  } catch {
    return undefined;
  }
}
