// The messages that the server has not acknowledged yet. They are kept in the browser's storage and sent again under the
// same ids, so that a stalled connection or a reload neither loses nor repeats one. They are sent one at a time, in order.

import { Problem, post } from "./api.js";

const PREFIX = "callboard.outbox.";
const TIMEOUT = 15_000; // milliseconds that the server may take to respond
const MAX_DELAY = 15_000; // milliseconds between two attempts
const HIDDEN_FOR = 1_500; // milliseconds for which a stored message is hidden after a reload
const EXPIRES = 12 * 3_600_000; // after that the person decides, because the server forgets ids after a day
const RETRIED = new Set([401, 408, 425, 429]);

export class Outbox {
  #running = false;
  #failures = 0;
  #wake = null;
  #started = false;

  /** `changed` is called when `items` must be redrawn; `denied` when the server requires a token. */
  constructor(sessionId, { changed, denied }) {
    this.sessionId = sessionId;
    this.changed = changed;
    this.denied = denied;
    this.items = this.#stored().map((each) => ({ ...each, state: "kept" }));
    // the board may already have them, so they are hidden until that is known
    setTimeout(() => this.items.forEach((item) => item.state === "kept" && this.#become(item, "sending")), HIDDEN_FOR);
  }

  /** Start to send, once the session exists. */
  start() {
    for (const item of this.items) if (Date.now() - item.at > EXPIRES) this.#fail(item, "This message is more than 12 hours old.");
    this.#started = true;
    this.hurry();
  }

  add(text) {
    const item = { id: newId(), text, at: Date.now(), state: "sending" };
    this.items.push(item);
    this.#store();
    this.changed();
    this.#run();
  }

  /** Remove a message that the board has. */
  arrived(id) {
    this.#remove((item) => item.id === id);
  }

  /** Remove the messages up to an event's number. */
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

  /** Retry now instead of later. */
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
      const { seq } = await post("/api/chat", body, { timeout: TIMEOUT });
      this.#failures = 0;
      item.seq = seq;
      this.#become(item, "sent");
    } catch (problem) {
      if (!this.items.includes(item)) return; // the board has it, or the person has removed it
      if (problem instanceof Problem && problem.status < 500 && !RETRIED.has(problem.status)) {
        this.#fail(item, problem.message);
        return;
      }
      this.#become(item, "waiting");
      if (problem.status === 401) this.denied();
      await this.#pause(problem.status === 401 ? Infinity : Math.min(MAX_DELAY, 500 * 2 ** this.#failures++));
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
      // without storage, messages last as long as the page
    }
  }
}

/** 128 random bits. `randomUUID` exists only for pages over HTTPS. */
export function newId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("");
}
