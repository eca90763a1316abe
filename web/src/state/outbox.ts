/**
 * The messages that the server has not acknowledged yet.
 *
 * They are kept in the browser's storage and sent again under the same ids, so that a stalled connection or a reload
 * neither loses nor repeats one. They are sent one at a time, in order.
 */
import { newId } from "../api/ids.ts";
import { Problem } from "../api/problem.ts";
import { texts } from "../texts.ts";
import { patience } from "./repeater.ts";
import { browserStorage, removeStored, type TextStorage } from "./storage.ts";
import type { Unsent } from "./unsent.ts";

const PREFIX = "callboard.outbox.";
const MAX_DELAY = 15_000; // milliseconds between two attempts
const HIDDEN_FOR = 1_500; // milliseconds for which a stored message is hidden after a reload
const EXPIRES = 12 * 3_600_000; // after that the person decides, because the server forgets ids after a day
const RETRIED = new Set([401, 408, 425, 429]);
const AGAIN = Symbol("again"); // the reason to end a request that is repeated at once

/** A message as it is stored. */
type Kept = Pick<Unsent, "id" | "text" | "at">;

/** What the outbox needs of its owner. */
export interface OutboxPort {
  /** Send a message. Returns the number of its event. */
  send(message: { readonly id: string; readonly text: string }, signal: AbortSignal): Promise<number>;
  /** The messages have changed. */
  onChange(): void;
  /** The server requires a token. */
  onDenied(): void;
}

/** The outboxes of the page that have messages, also those of conversations that are not shown. */
const filled = new Set<Outbox>();

/** Forget all unsent messages of this device, because the person signs out. */
export function forgetUnsent(): void {
  for (const outbox of [...filled]) outbox.clear();
  removeStored("localStorage", PREFIX);
}

export class Outbox {
  readonly sessionId: string;
  items: readonly Unsent[];
  readonly #port: OutboxPort;
  readonly #storage: TextStorage;
  #isRunning = false;
  #isStarted = false;
  #failures = 0;
  #wake: (() => void) | null = null;
  #sending: AbortController | null = null;
  #seen = 0; // the number of the newest event on the page
  readonly #known = new Set<string>(); // the ids of its messages, also of those that were removed

  constructor(sessionId: string, port: OutboxPort, storage = browserStorage("localStorage")) {
    this.sessionId = sessionId;
    this.#port = port;
    this.#storage = storage;
    this.items = this.#stored().map((item) => ({ ...item, state: "kept", problem: "", seq: null }));
    for (const { id } of this.items) this.#known.add(id);
    if (this.items.length > 0) filled.add(this);
    if (this.items.length > 0) setTimeout(() => this.#showKept(), HIDDEN_FOR);
  }

  /** Start to send, once the session exists, or again over a new connection. */
  start(): void {
    for (const item of this.items)
      if (Date.now() - item.at > EXPIRES) this.#set(item.id, { state: "failed", problem: texts.tooOld });
    this.#isStarted = true;
    this.#sending?.abort(AGAIN); // its connection may be dead, and a repeated message has the same id
    this.hurry();
  }

  add(text: string): void {
    this.items = [...this.items, { id: newId(), text, at: Date.now(), state: "sending", problem: "", seq: null }];
    this.#changed();
    void this.#run();
  }

  /** Remove a message that the board has. */
  arrived(id: string): void {
    this.#keep((item) => item.id !== id);
  }

  /** Remove the messages up to the number of the newest event on the page. */
  seen(seq: number): void {
    this.#seen = seq;
    this.#keep((item) => item.seq === null || item.seq > seq);
  }

  retry(id: string): void {
    if (this.items.find((item) => item.id === id)?.state === "sent") return;
    this.#set(id, { state: "sending", problem: "", at: Date.now() });
    this.hurry();
  }

  discard(id: string): void {
    this.#keep((item) => item.id !== id);
  }

  /** Discard all messages, and end the request of one that is being sent. */
  clear(): void {
    this.#keep(() => false);
    this.#sending?.abort(AGAIN);
    this.#wake?.();
  }

  /** Retry now instead of later. */
  hurry(): void {
    this.#failures = 0;
    this.#wake?.();
    void this.#run();
  }

  async #run(): Promise<void> {
    if (this.#isRunning || !this.#isStarted) return;
    this.#isRunning = true;
    for (let item = this.#next(); item !== undefined; item = this.#next()) await this.#send(item);
    this.#isRunning = false;
  }

  #next(): Unsent | undefined {
    return this.items.find(({ state }) => state !== "sent" && state !== "failed");
  }

  async #send({ id, text, state }: Unsent): Promise<void> {
    if (state !== "kept") this.#set(id, { state: "sending" });
    try {
      const seq = await this.#post({ id, text });
      this.#failures = 0;
      if (seq <= this.#seen) this.arrived(id);
      else this.#set(id, { state: "sent", seq });
    } catch (error) {
      if (!this.items.some((item) => item.id === id)) return; // the board has it, or the person has removed it
      if (error === AGAIN) return;
      const status = error instanceof Problem ? error.status : 0;
      if (error instanceof Problem && status < 500 && !RETRIED.has(status)) {
        this.#set(id, { state: "failed", problem: error.message });
        return;
      }
      this.#set(id, { state: "waiting" });
      if (status === 401) this.#port.onDenied();
      await this.#pause(status === 401 ? Infinity : Math.min(MAX_DELAY, 500 * 2 ** this.#failures++));
    }
  }

  async #post(message: { id: string; text: string }): Promise<number> {
    const sending = (this.#sending = new AbortController());
    const timer = setTimeout(() => sending.abort(), patience(this.#failures));
    try {
      return await this.#port.send(message, sending.signal);
    } finally {
      clearTimeout(timer);
      this.#sending = null;
    }
  }

  #pause(delay: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = delay === Infinity ? undefined : setTimeout(resolve, delay * (0.75 + Math.random() / 4));
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
    });
  }

  #showKept(): void {
    for (const item of this.items) if (item.state === "kept") this.#set(item.id, { state: "sending" });
  }

  #set(id: string, changes: Partial<Unsent>): void {
    this.items = this.items.map((item) => (item.id === id ? { ...item, ...changes } : item));
    this.#changed();
  }

  #keep(which: (item: Unsent) => boolean): void {
    const kept = this.items.filter(which);
    if (kept.length === this.items.length) return;
    this.items = kept;
    this.#changed();
  }

  #changed(): void {
    if (this.items.length > 0) filled.add(this);
    else filled.delete(this);
    this.#store();
    this.#port.onChange();
  }

  #stored(): Kept[] {
    try {
      const found = JSON.parse(this.#storage.get(PREFIX + this.sessionId) ?? "[]") as Kept[];
      return found
        .filter(({ id, text }) => typeof id === "string" && typeof text === "string")
        .map(({ id, text, at }) => ({ id, text, at }));
    } catch {
      return [];
    }
  }

  /** Store the messages beside those that other tabs have stored. */
  #store(): void {
    for (const { id } of this.items) this.#known.add(id);
    const others = this.#stored().filter(({ id }) => !this.#known.has(id));
    const own = this.items.filter(({ state }) => state !== "sent").map(({ id, text, at }) => ({ id, text, at }));
    const kept = [...others, ...own];
    this.#storage.set(PREFIX + this.sessionId, kept.length > 0 ? JSON.stringify(kept) : null);
  }
}
