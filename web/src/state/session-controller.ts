/**
 * One conversation with a server: its state, its connection, its unsent messages, and what a person can do in it.
 *
 * It owns all requests of its element: they start when the element is connected and end when it is disconnected. Events
 * are applied once per frame, however many arrive.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import { ApiClient, type Query } from "../api/api-client.ts";
import { BoardStream, type ConnectionState } from "../api/board-stream.ts";
import { newId } from "../api/ids.ts";
import { explain, Problem } from "../api/problem.ts";
import type { BoardEvent, ExecutionInfo, Snapshot, ToolInfo, TranscriptMessage } from "../api/wire.ts";
import { texts } from "../texts.ts";
import { type Conversation, EMPTY_CONVERSATION, lacksHistory, type OpenRequest } from "./conversation.ts";
import { Outbox } from "./outbox.ts";
import { addHistory, begin, closeRequest, prepend, reduce, settle } from "./reducer.ts";
import { browserStorage } from "./storage.ts";

const TIMEOUT = 20_000; // milliseconds that the server may take to respond
const NEXT = "callboard.next-session";
const PAGES = 8; // pages of 500 past events that are read for the history of the cards

interface EventPage {
  readonly events: readonly BoardEvent[];
  readonly next: number | null;
}

const tab = browserStorage("sessionStorage");

export interface Connection {
  readonly state: ConnectionState;
  /** Milliseconds until the next attempt, while it waits. */
  readonly delay: number;
}

/** The answer to a request that is being sent, or that the server refused. */
export interface AnswerState {
  readonly isBusy: boolean;
  readonly problem: string;
}

/** What a controller tells its element besides a new state. */
export interface SessionListener {
  /** The conversation has another id, or exists now. */
  onSession(sessionId: string, exists: boolean): void;
  /** The server requires a token. `wasRefused` if it refused one. */
  onDenied(wasRefused: boolean): void;
  /** A text for screen readers. */
  onAnnouncement(text: string): void;
}

export class SessionController implements ReactiveController {
  conversation: Conversation = EMPTY_CONVERSATION;
  connection: Connection = { state: "connecting", delay: 0 };
  outbox: Outbox;
  /** Whether the first state is there. */
  isReady = false;
  isLoadingEarlier = false;
  /** The cursor of the messages before those on the page. */
  earlier: number | null = null;
  /** The tools of the conversation, by name. */
  tools: ReadonlyMap<string, ToolInfo> = new Map();
  answers: ReadonlyMap<string, AnswerState> = new Map();
  cancelling: ReadonlySet<string> = new Set();
  error = "";
  api = new ApiClient();
  sessionId: string;
  readonly #host: ReactiveControllerHost;
  readonly #listener: SessionListener;
  readonly #keys = new Map<string, { body: string; key: string }>(); // the idempotency keys of answers
  #stream: BoardStream | null = null;
  #queue: BoardEvent[] = [];
  #frame: (() => void) | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #exists = false;
  #generation = 0; // increases with each connection, so that responses of an older one are dropped
  #snapshots = 0; // increases with each snapshot, so that pages for an older one are dropped

  constructor(host: ReactiveControllerHost, listener: SessionListener) {
    this.#host = host;
    this.#listener = listener;
    this.sessionId = nextSessionId();
    this.outbox = this.#newOutbox();
    host.addController(this);
  }

  hostDisconnected(): void {
    this.#disconnect();
  }

  /** Show a conversation, or an empty one that is created with its first message. */
  open(sessionId: string | null): void {
    this.#disconnect();
    this.sessionId = sessionId ?? nextSessionId();
    this.#exists = sessionId !== null;
    if (this.outbox.sessionId !== this.sessionId) this.outbox = this.#newOutbox();
    this.conversation = { ...EMPTY_CONVERSATION, count: this.conversation.count };
    this.answers = new Map();
    this.earlier = null;
    this.isReady = false;
    this.error = "";
    this.#listener.onSession(this.sessionId, this.#exists);
    void this.#connect();
  }

  /** Try to connect now, after a lost connection or with a new token. */
  reconnect(): void {
    if (this.connection.state === "waiting" && this.#stream !== null) this.#stream.retry();
    else this.open(this.#exists ? this.sessionId : null);
  }

  send(text: string): void {
    const isFirst = this.outbox.items.length === 0;
    this.error = "";
    this.outbox.add(text);
    if (isFirst && !this.#exists && this.isReady) void this.#connect();
  }

  async stop(): Promise<void> {
    await this.#try(() =>
      this.api.post("/api/interrupt", { session_id: this.sessionId }, { key: newId(), timeout: TIMEOUT }),
    );
  }

  async cancel(executionId: string): Promise<void> {
    this.cancelling = new Set([...this.cancelling, executionId]);
    this.#host.requestUpdate();
    await this.#try(() =>
      this.api.post(`/api/executions/${encodeURIComponent(executionId)}/cancel`, { session_id: this.sessionId }),
    );
    this.cancelling = new Set([...this.cancelling].filter((each) => each !== executionId));
    this.#host.requestUpdate();
  }

  /** Answer a request as the person has seen it. A repeated answer has the same key, because the first may have arrived. */
  async answer({ id, argumentsHash }: OpenRequest, answer: unknown): Promise<void> {
    const body = {
      session_id: this.sessionId,
      answer,
      ...(argumentsHash === null ? {} : { arguments_hash: argumentsHash }),
    };
    const encoded = JSON.stringify(body);
    if (this.#keys.get(id)?.body !== encoded) this.#keys.set(id, { body: encoded, key: newId() });
    const key = this.#keys.get(id)?.key ?? newId();
    this.#setAnswer(id, { isBusy: true, problem: "" });
    try {
      await this.api.post(`/api/requests/${encodeURIComponent(id)}/answer`, body, { key, timeout: TIMEOUT });
      this.#keys.delete(id);
      this.#setAnswer(id, { isBusy: false, problem: "" });
    } catch (error) {
      const isClosed = error instanceof Problem && (error.status === 404 || error.code === "request_closed");
      const isSlow = error instanceof Error && error.name === "TimeoutError";
      this.#setAnswer(id, { isBusy: false, problem: isClosed ? "" : isSlow ? texts.slowAnswer : explain(error) });
      if (!isClosed) return;
      this.conversation = closeRequest(this.conversation, id);
      this.error = texts.decidedElsewhere;
      this.#listener.onAnnouncement(texts.decidedElsewhere);
      this.#host.requestUpdate();
    }
  }

  async loadEarlier(): Promise<void> {
    const mine = this.#snapshots;
    if (this.earlier === null || this.isLoadingEarlier) return;
    this.isLoadingEarlier = true;
    this.#host.requestUpdate();
    const query = { session_id: this.sessionId, before: this.earlier };
    await this.#try(async () => {
      const page = await this.api.get<{ messages: TranscriptMessage[]; next: number | null }>("/api/messages", query);
      if (mine !== this.#snapshots) return;
      this.conversation = prepend(this.conversation, page.messages);
      this.earlier = page.next;
      if (this.conversation.uncertain.size > 0) void this.#settle();
    });
    this.isLoadingEarlier = false;
    this.#host.requestUpdate();
  }

  // The connection

  async #connect(): Promise<void> {
    const mine = ++this.#generation;
    this.#setConnection("connecting");
    try {
      if (this.outbox.items.length > 0) await this.#create();
      if (mine !== this.#generation) return;
      if (this.#exists) this.#listen(mine);
      else await this.#prepare(mine);
    } catch (error) {
      if (mine !== this.#generation) return;
      this.#fail(error, mine);
    }
  }

  /** Create the session, or open it again. */
  async #create(): Promise<void> {
    const { sessionId } = this;
    await this.api.post("/api/sessions", { session_id: sessionId }, { timeout: TIMEOUT });
    if (sessionId !== this.sessionId) return;
    this.error = "";
    const isNew = !this.#exists;
    this.#exists = true;
    if (tab.get(NEXT) === sessionId) tab.set(NEXT, null);
    if (isNew) this.#listener.onSession(sessionId, true);
  }

  /** Get ready for a conversation that does not exist yet. */
  async #prepare(mine: number): Promise<void> {
    await this.#loadTools();
    if (mine !== this.#generation) return;
    this.isReady = true;
    this.#setConnection("connected");
    if (this.outbox.items.length > 0) void this.#connect(); // written meanwhile
  }

  /** Read the board, and then send the messages, so that the first answer is seen from its first word. */
  #listen(mine: number): void {
    this.#stream = new BoardStream(this.api, this.sessionId, {
      onEvent: (kind, event) => this.#take(kind, event),
      onState: (state, delay) => {
        this.#setConnection(state, delay);
        if (state === "connected") this.outbox.start();
      },
      onFailure: (problem) => this.#fail(problem, mine),
    });
    this.#stream.open();
    void this.#loadTools().catch(() => undefined); // titles and suggestions are optional
  }

  #fail(error: unknown, mine: number): void {
    this.#setConnection("lost");
    if (error instanceof Problem && error.status === 401) return this.#listener.onDenied(this.api.token.get() !== "");
    if (error instanceof Problem && error.status === 404 && this.#exists) return this.#leaveMissing();
    if (error instanceof Problem) this.error = error.message;
    this.#retry = setTimeout(() => {
      if (mine === this.#generation) void this.#connect();
    }, 3000);
  }

  /** Leave a conversation that was deleted, or that belongs to another user. Unsent messages move to a new one. */
  #leaveMissing(): void {
    const unsent = this.outbox.items.map(({ text }) => text);
    for (const { id } of this.outbox.items) this.outbox.discard(id);
    this.open(null);
    for (const text of unsent) this.send(text);
  }

  #disconnect(): void {
    this.#generation++;
    this.#snapshots++;
    this.#stream?.close();
    this.#stream = null;
    clearTimeout(this.#retry);
    this.#queue = [];
    this.#frame?.();
    this.#frame = null;
  }

  #setConnection(state: ConnectionState, delay = 0): void {
    this.connection = { state, delay };
    this.#host.requestUpdate();
  }

  // Events

  #take(kind: string, event: unknown): void {
    if (kind === "snapshot" || kind === "resync") return this.#begin(event as Snapshot);
    if (kind === "deleted") {
      for (const { id } of this.outbox.items) this.outbox.discard(id);
      return this.open(null);
    }
    if (kind === "goodbye") return;
    this.#queue.push({ ...(event as BoardEvent), kind });
    this.#frame ??= nextFrame(() => {
      this.#frame = null;
      this.#applyQueue();
    });
  }

  #applyQueue(): void {
    const events = this.#queue.splice(0);
    const step = reduce(this.conversation, events);
    this.conversation = step.conversation;
    for (const { kind, data, seq } of events) {
      if (kind === "user_input" && typeof data?.["message_id"] === "string") this.outbox.arrived(data["message_id"]);
      if (seq !== undefined) this.outbox.seen(seq);
    }
    if (step.announcement !== null) this.#listener.onAnnouncement(step.announcement);
    this.#host.requestUpdate();
  }

  #begin(snapshot: Snapshot): void {
    this.#queue = [];
    this.conversation = begin(snapshot, this.conversation);
    this.outbox.seen(snapshot.last_seq ?? 0);
    this.isReady = true;
    this.earlier = snapshot.messages_next ?? null;
    if (this.conversation.uncertain.size > 0) void this.#settle();
    void this.#loadHistory(snapshot.last_seq ?? 0);
    this.#host.requestUpdate();
  }

  /** Add the history of the cards from the events before the snapshot. It is optional. */
  async #loadHistory(lastSeq: number): Promise<void> {
    const mine = ++this.#snapshots;
    let before: number | null = lastSeq + 1;
    for (let page = 0; page < PAGES && before !== null && before > 1 && lacksHistory(this.conversation); page++) {
      const query: Query = { session_id: this.sessionId, before, limit: 500 };
      const found: EventPage | null = await this.api.get<EventPage>("/api/events", query).catch(() => null);
      if (found === null || mine !== this.#snapshots) return;
      this.conversation = addHistory(this.conversation, found.events);
      this.#host.requestUpdate();
      before = found.next;
    }
  }

  /** Load the results of calls that ended before the snapshot. Without them, later events update the calls. */
  async #settle(): Promise<void> {
    const mine = this.sessionId;
    const query = { session_id: mine, limit: 1000 };
    const found = await this.api.get<{ executions: ExecutionInfo[] }>("/api/executions", query).catch(() => null);
    if (found === null || mine !== this.sessionId) return;
    this.conversation = settle(this.conversation, found.executions);
    this.#host.requestUpdate();
  }

  async #loadTools(): Promise<void> {
    const query = this.#exists ? { session_id: this.sessionId } : {};
    const { tools } = await this.api.get<{ tools: ToolInfo[] }>("/api/tools", query);
    this.tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#host.requestUpdate();
  }

  // Helpers

  #newOutbox(): Outbox {
    const { sessionId } = this;
    return new Outbox(sessionId, {
      send: async ({ id, text }) => {
        const body = { session_id: sessionId, message: text, message_id: id };
        return (await this.api.post<{ seq: number }>("/api/chat", body, { timeout: 15_000 })).seq;
      },
      onChange: () => this.#host.requestUpdate(),
      onDenied: () => this.#listener.onDenied(this.api.token.get() !== ""),
    });
  }

  #setAnswer(id: string, state: AnswerState): void {
    this.answers = new Map([...this.answers, [id, state]]);
    this.#host.requestUpdate();
  }

  async #try(action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.error = explain(error);
      this.#host.requestUpdate();
    }
  }
}

/**
 * The id of the conversation that this tab starts next, made here, so that messages can be stored before the server
 * responds. A reload keeps it, and with it the draft.
 */
function nextSessionId(): string {
  const id = tab.get(NEXT) ?? `s${newId()}`;
  tab.set(NEXT, id);
  return id;
}

/** Call a function once, before the next frame, or soon if the page draws no frames. Returns its cancellation. */
function nextFrame(action: () => void): () => void {
  const cancel = () => {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
  };
  const run = () => {
    cancel();
    action();
  };
  const timer = setTimeout(run, 200);
  const frame = requestAnimationFrame(run);
  return cancel;
}
