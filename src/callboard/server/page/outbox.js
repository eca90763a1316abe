// What the person has written and the server has not acknowledged yet. It is kept in the browser's storage until then,
// and sent again under the same id, so that it is neither lost nor taken twice: not by a stalled connection, not by a
// reload. One message is sent at a time, in the order in which they were written.

import { Problem, post } from "./api.js";

const PREFIX = "callboard.outbox.";
const PATIENCE = 15_000; // milliseconds that the server may take to answer
const LONGEST = 15_000; // between two attempts
const MOMENT = 1_500;
const EXPIRES = 12 * 3_600_000; // after that a person decides: the server forgets ids after a day
const AGAIN = new Set([401, 408, 425, 429]);

export class Outbox {
  #running = false;
  #failures = 0;
  #wake = null;
  #started = false;

  /** `changed` is called whenever `items` are to be drawn anew; `denied` when the server wants a token. */
  constructor(sessionId, { changed, denied }) {
    this.sessionId = sessionId;
    this.changed = changed;
    this.denied = denied;
    this.items = this.#stored().map((each) => ({ ...each, state: "kept" }));
    // the board may have them already, and then they are not shown twice for the moment until that is known
    setTimeout(() => this.items.forEach((item) => item.state === "kept" && this.#become(item, "sending")), MOMENT);
  }

  /** The session is there: begin to send what was left, and what comes. */
  start() {
    for (const item of this.items) if (Date.now() - item.at > EXPIRES) this.#fail(item, "It was written long ago.");
    this.#started = true;
    this.hurry();
  }

  add(text) {
    const item = { id: newId(), text, at: Date.now(), state: "sending" };
    this.items.push(item);
    this.#store();
    this.changed();
    this.#run();
    return item;
  }

  /** The board has a message: it is shown there from now on. */
  arrived(id) {
    this.#remove((item) => item.id === id);
  }

  /** Everything up to an event is shown. */
  seen(seq) {
    this.#remove((item) => item.seq !== undefined && item.seq <= seq);
  }

  retry(id) {
    for (const item of this.items) {
      if (item.id === id && item.state !== "sent") Object.assign(item, { state: "sending", problem: "", at: Date.now() });
    }
    this.#store();
    this.changed();
    this.hurry();
  }

  discard(id) {
    this.#remove((item) => item.id === id);
  }

  /** Try now, in place of later. */
  hurry() {
    this.#failures = 0;
    this.#wake?.();
    this.#run();
  }

  async #run() {
    if (this.#running || !this.#started) return;
    this.#running = true;
    for (let item; (item = this.items.find((each) => !["sent", "failed"].includes(each.state))); ) await this.#send(item);
    this.#running = false;
  }

  async #send(item) {
    if (item.state !== "kept") item.state = "sending";
    this.changed();
    try {
      const body = { session_id: this.sessionId, message: item.text, message_id: item.id };
      const { seq } = await post("/api/chat", body, { patience: PATIENCE });
      this.#failures = 0;
      item.seq = seq;
      this.#become(item, "sent");
    } catch (problem) {
      if (!this.items.includes(item)) return; // the board was faster, or the person has removed it
      if (problem instanceof Problem && problem.status < 500 && !AGAIN.has(problem.status)) {
        this.#fail(item, problem.message);
        return;
      }
      this.#become(item, "waiting");
      if (problem.status === 401) this.denied();
      await this.#pause(problem.status === 401 ? Infinity : Math.min(LONGEST, 500 * 2 ** this.#failures++));
    }
  }

  #pause(delay) {
    return new Promise((resolve) => {
      const timer = delay === Infinity ? null : setTimeout(resolve, delay * (0.75 + Math.random() / 4));
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
    });
  }

  #fail(item, problem) {
    item.problem = problem;
    this.#become(item, "failed");
  }

  #become(item, state) {
    item.state = state;
    this.#store();
    this.changed();
  }

  #remove(which) {
    const kept = this.items.filter((item) => !which(item));
    if (kept.length === this.items.length) return;
    this.items = kept;
    this.#store();
    this.changed();
  }

  #stored() {
    try {
      const found = JSON.parse(localStorage.getItem(PREFIX + this.sessionId) ?? "[]");
      return found.filter((each) => typeof each.id === "string" && typeof each.text === "string");
    } catch {
      return [];
    }
  }

  #store() {
    const left = this.items.filter((item) => item.state !== "sent").map(({ id, text, at }) => ({ id, text, at }));
    try {
      if (left.length) localStorage.setItem(PREFIX + this.sessionId, JSON.stringify(left));
      else localStorage.removeItem(PREFIX + this.sessionId);
    } catch {
      // without storage it lasts as long as the page
    }
  }
}

/** 128 random bits. `randomUUID` is there for pages over HTTPS only. */
export function newId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("");
}
