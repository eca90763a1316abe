/**
 * The events of a conversation for its timeline: pages of past events, from the newest backwards, and the live stream.
 *
 * It keeps a short entry per event and at most `MAX_EVENTS` of them; whole events are loaded when they are shown. Changes
 * are applied once per frame, however many events arrive.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import type { ApiClient } from "../api/api-client.ts";
import { BoardStream, type ConnectionState } from "../api/board-stream.ts";
import { explain, Problem } from "../api/problem.ts";
import type { BoardEvent, SessionInfo } from "../api/wire.ts";
import { type Entry, entryOf } from "./board-entry.ts";
import { type BoardFilter, FilteredEntries, NO_FILTER } from "./board-filter.ts";
import { BoardTracks } from "./board-tracks.ts";
import { Deque } from "./deque.ts";
import { nextFrame } from "./next-frame.ts";

export const MAX_EVENTS = 100_000;
const PAGE = 500; // events of a page, the most that the server gives
const DROPPED = 0.1; // share of the events that is forgotten at once when there are too many
const LOADING_PAUSE = 250; // milliseconds between two updates while older pages are loaded
const SCAN = 8; // milliseconds of a frame for the filter
const WHOLE = 50; // whole events that are kept

interface EventPage {
  readonly events: readonly BoardEvent[];
  readonly next: number | null;
}

/** `missing`: the conversation does not exist, or belongs to another user. */
export type BoardState = "none" | "loading" | "ready" | "missing" | "deleted" | "failed";

export class BoardController implements ReactiveController {
  state: BoardState = "none";
  /** The problem, if the state is `failed`. */
  problem = "";
  title = "";
  connection: ConnectionState = "connecting";
  log = new Deque<Entry>();
  tracks = new BoardTracks();
  shown = new FilteredEntries(NO_FILTER);
  filter: BoardFilter = NO_FILTER;
  /** Whether pages of older events are being loaded. */
  isLoading = false;
  /** Whether the filter has read all events that are loaded. */
  isScanned = true;
  /** Whether older events are not loaded, because there are too many. */
  isCut = false;
  /** Increases with each change of the events, or of those that are shown. */
  version = 0;
  readonly #host: ReactiveControllerHost;
  readonly #api: ApiClient;
  readonly #whole = new Map<number, BoardEvent>();
  #sessionId = "";
  #stream: BoardStream | null = null;
  #queue: BoardEvent[] = [];
  #cancelFrame: (() => void) | null = null;
  #later: ReturnType<typeof setTimeout> | undefined;
  #generation = 0; // increases with each conversation, so that responses for an older one are dropped

  constructor(host: ReactiveControllerHost, api: ApiClient) {
    this.#host = host;
    this.#api = api;
    host.addController(this);
  }

  hostConnected(): void {
    if (this.#sessionId !== "") this.open(this.#sessionId);
  }

  hostDisconnected(): void {
    this.#close();
  }

  /** Show the board of a conversation. */
  open(sessionId: string): void {
    this.#close();
    this.#sessionId = sessionId;
    this.title = "";
    this.#reset();
    this.state = sessionId === "" ? "none" : "loading";
    if (sessionId !== "") void this.#load(++this.#generation);
    this.#changed();
  }

  retry(): void {
    if (this.state === "ready") this.#stream?.retry();
    else this.open(this.#sessionId);
  }

  setFilter(filter: BoardFilter): void {
    this.filter = filter;
    this.shown = new FilteredEntries(filter);
    this.isScanned = false;
    this.#apply();
  }

  /** The number of all events of the board, as far as it is known. */
  get total(): number {
    return this.log.last?.seq ?? 0;
  }

  entry(seq: number): Entry | null {
    return this.log.at(seq - (this.log.first?.seq ?? 0)) ?? null;
  }

  /** Load a whole event. */
  async whole(seq: number, signal?: AbortSignal): Promise<BoardEvent | null> {
    const known = this.#whole.get(seq);
    if (known !== undefined) return known;
    const query = { session_id: this.#sessionId, before: seq + 1, limit: 1 };
    const { events } = await this.#api.get<EventPage>("/api/events", query, signal);
    const event = events[0];
    if (event === undefined || event.seq !== seq) return null;
    this.#whole.set(seq, event);
    for (const oldest of this.#whole.keys()) {
      if (this.#whole.size <= WHOLE) break;
      this.#whole.delete(oldest);
    }
    return event;
  }

  // Loading

  async #load(mine: number): Promise<void> {
    void this.#loadTitle(mine);
    try {
      const page = await this.#page(null);
      if (mine !== this.#generation) return;
      this.#addOlder(page.events);
      this.state = "ready";
      this.#listen(mine);
      this.#apply();
      await this.#loadOlder(page.next, mine);
    } catch (error) {
      if (mine === this.#generation) this.#fail(error);
    }
  }

  /** Load all older pages, as far as they are kept. A page that cannot be loaded is asked for again. */
  async #loadOlder(next: number | null, mine: number): Promise<void> {
    this.isLoading = true;
    let before = next;
    for (let failures = 0; before !== null && this.log.length < MAX_EVENTS;) {
      try {
        const page = await this.#page(before);
        if (mine !== this.#generation) return;
        this.#addOlder(page.events);
        this.#scheduleLater();
        before = page.next;
        failures = 0;
      } catch (error) {
        if (mine !== this.#generation) return;
        if (error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.min(15_000, 500 * 2 ** failures++)));
      }
    }
    this.isLoading = false;
    this.isCut = before !== null;
    this.#apply();
  }

  #page(before: number | null): Promise<EventPage> {
    const query = { session_id: this.#sessionId, limit: PAGE, ...(before === null ? {} : { before }) };
    return this.#api.get<EventPage>("/api/events", query);
  }

  async #loadTitle(mine: number): Promise<void> {
    const path = `/api/sessions/${encodeURIComponent(this.#sessionId)}`;
    const found = await this.#api.get<SessionInfo>(path).catch(() => null); // a title is optional
    if (mine !== this.#generation) return;
    this.title = found?.title ?? "";
    this.#changed();
  }

  #listen(mine: number): void {
    const stream = new BoardStream(this.#api, this.#sessionId, {
      onEvent: (kind, event) => this.#take(kind, event, mine),
      onState: (state) => {
        this.connection = state;
        this.#changed();
      },
      onFailure: (problem) => this.#fail(problem),
    });
    stream.cursor = this.total;
    this.#stream = stream;
    stream.open();
  }

  #take(kind: string, event: unknown, mine: number): void {
    if (mine !== this.#generation) return;
    if (kind === "snapshot" || kind === "resync") return this.open(this.#sessionId); // events are missing
    if (kind === "deleted") return this.#end("deleted");
    const seq = (event as BoardEvent).seq;
    if (seq === undefined) return; // a piece of a text, or the end of the stream
    this.#queue.push({ ...(event as BoardEvent), kind });
    this.#schedule();
  }

  #fail(error: unknown): void {
    const isMissing = error instanceof Problem && error.status === 404;
    this.problem = explain(error);
    this.#end(isMissing ? "missing" : "failed");
  }

  #end(state: BoardState): void {
    this.#close();
    this.state = state;
    this.isLoading = false;
    this.#changed();
  }

  #close(): void {
    this.#generation++;
    this.#stream?.close();
    this.#stream = null;
    this.#queue = [];
    this.#cancelFrame?.();
    this.#cancelFrame = null;
    clearTimeout(this.#later);
    this.#later = undefined;
  }

  #reset(): void {
    this.log = new Deque();
    this.tracks = new BoardTracks();
    this.shown = new FilteredEntries(this.filter);
    this.#whole.clear();
    this.problem = "";
    this.isLoading = this.isCut = false;
  }

  // Events

  #addOlder(events: readonly BoardEvent[]): void {
    for (const event of events.toReversed()) {
      const entry = entryOf(event);
      if (this.log.first !== undefined && entry.seq !== this.log.first.seq - 1) continue;
      this.log.addOldest(entry);
      this.tracks.add(entry, true);
    }
  }

  #schedule(): void {
    this.#cancelFrame ??= nextFrame(() => {
      this.#cancelFrame = null;
      this.#apply();
    });
  }

  #scheduleLater(): void {
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      this.#apply();
    }, LOADING_PAUSE);
  }

  #apply(): void {
    for (const event of this.#queue.splice(0)) {
      if (event.seq === undefined || event.seq <= this.total) continue;
      if (this.log.length > 0 && event.seq !== this.total + 1) return this.open(this.#sessionId); // events are missing
      const entry = entryOf(event);
      this.log.addNewest(entry);
      this.tracks.add(entry);
    }
    this.#dropOldest();
    this.isScanned = this.shown.advance(this.log, SCAN);
    if (!this.isScanned) this.#schedule();
    this.#changed();
  }

  #dropOldest(): void {
    if (this.log.length <= MAX_EVENTS) return;
    this.log.dropOldest(this.log.length - MAX_EVENTS + Math.round(MAX_EVENTS * DROPPED));
    const first = this.log.first?.seq ?? 0;
    this.tracks.dropBefore(first);
    this.shown.dropBefore(first);
    this.isCut = true;
  }

  #changed(): void {
    this.version++;
    this.#host.requestUpdate();
  }
}
