// The events of a session while the page is open. They are read with fetch, which can send a token. After a lost
// connection the stream resumes after the last event, so none is lost or repeated.

import { open, problemOf } from "./api.js";

const SILENCE = 45_000; // milliseconds; the server sends a heartbeat every 15 seconds
const MAX_DELAY = 15_000; // milliseconds between two attempts
const SETTLED = 2_000; // milliseconds after which a connection resets the delay

/** Splits a stream of server-sent events into `{id, event, data}`. A chunk may end anywhere. */
export class Parser {
  #rest = "";

  push(text) {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    const found = [];
    for (const line of lines) {
      if (line === "") {
        if (this.id !== undefined || this.data !== undefined) {
          found.push({ id: this.id, event: this.event ?? "message", data: this.data });
        }
        this.id = this.event = this.data = undefined;
        continue;
      }
      const [, name, value] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
      if (name === "data") this.data = this.data === undefined ? (value ?? "") : `${this.data}\n${value ?? ""}`;
      else if (name === "id" || name === "event") this[name] = value ?? "";
    }
    return found;
  }
}

export class Stream {
  #controller = null;
  #timer = null;
  #failures = 0;
  #closed = false;
  #wake = () => this.#state === "waiting" && this.retry();
  #state = "";

  /** `take` gets each event as `(kind, event)`, `state` each state of the connection, `fail` the problem that ends it. */
  constructor(sessionId, { take, state, fail }) {
    this.sessionId = sessionId;
    this.cursor = null;
    this.take = take;
    this.setState = (name, detail) => state((this.#state = name), detail);
    this.fail = fail;
    addEventListener("online", this.#wake);
    document.addEventListener("visibilitychange", this.#wake);
    this.#run();
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#controller?.abort();
    removeEventListener("online", this.#wake);
    document.removeEventListener("visibilitychange", this.#wake);
  }

  /** Connect now instead of later. */
  retry() {
    clearTimeout(this.#timer);
    if (!this.#closed) this.#run();
  }

  async #run() {
    this.setState(this.#failures ? "reconnecting" : "connecting");
    try {
      await this.#read();
    } catch (problem) {
      if (this.#closed) return;
      if (problem.code === "cursor_ahead") this.cursor = null; // the server has another store
      else if (problem.status >= 400 && problem.status < 500 && problem.status !== 408 && problem.status !== 429) {
        this.close();
        this.fail(problem);
        return;
      }
    }
    if (this.#closed) return;
    const delay = Math.min(MAX_DELAY, 500 * 2 ** this.#failures++) * (0.5 + Math.random() / 2);
    this.setState("waiting", delay);
    this.#timer = setTimeout(() => this.#run(), delay);
  }

  async #read() {
    this.#controller = new AbortController();
    const query = { session_id: this.sessionId };
    if (this.cursor !== null) query.after = this.cursor;
    let watch = setTimeout(() => this.#controller.abort(), SILENCE);
    try {
      const response = await open("/api/chat/stream", query, this.#controller.signal);
      if (!response.ok) throw await problemOf(response);
      this.setState("connected");
      const parser = new Parser();
      const decoder = new TextDecoder();
      const since = performance.now();
      const reader = response.body.getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        if (performance.now() - since > SETTLED) this.#failures = 0;
        clearTimeout(watch);
        watch = setTimeout(() => this.#controller.abort(), SILENCE);
        for (const each of parser.push(decoder.decode(value, { stream: true }))) this.#take(each);
      }
    } finally {
      clearTimeout(watch);
    }
  }

  #take({ id, event, data }) {
    if (id !== undefined && /^\d+$/.test(id)) {
      const seq = Number(id);
      const whole = event === "snapshot" || event === "resync";
      if (!whole && this.cursor !== null && seq < this.cursor) return;
      if (!whole && data !== undefined && event !== "goodbye" && event !== "deleted" && seq === this.cursor) return;
      this.cursor = seq;
    }
    if (data === undefined) return;
    let read;
    try {
      read = JSON.parse(data);
    } catch {
      return;
    }
    this.take(event, read);
  }
}
