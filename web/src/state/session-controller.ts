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
import { sendMessage } from "../api/send-message.ts";
import type { BoardEvent, MessagePage, Snapshot, ToolInfo, ToolList } from "../api/wire.ts";
import { type Conversation, EMPTY_CONVERSATION, isRunning, type OpenRequest } from "./conversation.ts";
import { nextFrame } from "./next-frame.ts";
import { forgetSession, keepSession, nextSessionId } from "./next-session.ts";
import { Outbox } from "./outbox.ts";
import { begin, closeRequest, interruptText, prepend, reduce } from "./reducer.ts";
import { Repeater } from "./repeater.ts";
import { RequestAnswers } from "./request-answers.ts";
import type { Connection, SessionListener } from "./session-listener.ts";
import { type CompletionPort, loadHistory, loadRequests, loadResults } from "./snapshot-completion.ts";

const TIMEOUT = 20_000; // milliseconds that the server may take to respond
const CONNECT_TIMEOUT = 4_500; // milliseconds after which a connection that is being made counts as dead

export class SessionController implements ReactiveController {
  conversation: Conversation = EMPTY_CONVERSATION;
  connection: Connection = { state: "connecting", delay: 0, silence: 0 };
  outbox: Outbox;
  /** Whether the first state is there. */
  isReady = false;
  isLoadingEarlier = false;
  /** The cursor of the messages before those on the page. */
  earlier: number | null = null;
  /** The tools of the conversation, by name. */
  tools: ReadonlyMap<string, ToolInfo> = new Map();
  cancelling: ReadonlySet<string> = new Set();
  error = "";
  api = new ApiClient();
  sessionId: string;
  /** The definitions of the page's tools, which are sent with each message. */
  pageTools: () => Promise<readonly unknown[] | undefined> = async () => undefined;
  readonly #host: ReactiveControllerHost;
  readonly #listener: SessionListener;
  readonly #answers: RequestAnswers;
  readonly #repeater = new Repeater();
  readonly #completion: CompletionPort = {
    read: (path, query) => this.#read(path, query),
    change: (next) => {
      this.conversation = next(this.conversation);
      this.#host.requestUpdate();
      return this.conversation;
    },
  };
  #stream: BoardStream | null = null;
  #queue: BoardEvent[] = [];
  #frame: (() => void) | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #exists = false;
  #titles: Promise<unknown> = Promise.resolve();
  #failures = 0; // attempts to connect since the last connection
  #generation = 0; // increases with each connection, so that responses of an older one are dropped
  #snapshots = 0; // increases with each snapshot, so that pages for an older one are dropped

  constructor(host: ReactiveControllerHost, listener: SessionListener) {
    this.#host = host;
    this.#listener = listener;
    this.sessionId = nextSessionId();
    this.outbox = this.#newOutbox();
    this.#answers = this.#newAnswers();
    host.addController(this);
  }

  /** The answers that are being sent or were refused, by request id. */
  get answers(): RequestAnswers["states"] {
    return this.#answers.states;
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
    this.#answers.clear();
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
    if (!this.#exists) keepSession(this.sessionId);
    if (isFirst && !this.#exists && this.isReady) void this.#connect();
  }

  async stop(): Promise<void> {
    const [body, key] = [{ session_id: this.sessionId }, newId()];
    const isWanted = () => body.session_id === this.sessionId && this.conversation.isProcessing;
    const send = (signal: AbortSignal) => this.api.post("/api/interrupt", body, { key, signal });
    await this.#try(() => this.#repeater.send(send, { isWanted }));
  }

  async cancel(executionId: string): Promise<void> {
    this.cancelling = new Set([...this.cancelling, executionId]);
    this.#host.requestUpdate();
    const path = `/api/executions/${encodeURIComponent(executionId)}/cancel`;
    const isWanted = () => isRunning(this.conversation, executionId);
    const send = (signal: AbortSignal) => this.api.post(path, { session_id: this.sessionId }, { signal });
    await this.#try(() => this.#repeater.send(send, { isWanted }));
    this.cancelling = new Set([...this.cancelling].filter((each) => each !== executionId));
    this.#host.requestUpdate();
  }

  /** Answer a request as the person has seen it. */
  async answer(request: OpenRequest, answer: unknown): Promise<void> {
    await this.#answers.send(request, answer);
  }

  /** Let the model respond after a failed turn. Where the server has nothing to repeat, the message is sent again. */
  async retryTurn(): Promise<void> {
    this.error = "";
    const body = { session_id: this.sessionId };
    try {
      await this.api.post("/api/chat/retry", body, { key: newId(), timeout: TIMEOUT });
    } catch (error) {
      const last = this.conversation.items.findLast((item) => item.type === "message" && item.role === "user");
      const hasNone = error instanceof Problem && (error.code === "nothing_to_retry" || error.status === 405);
      if (hasNone && last?.type === "message") return this.send(last.text);
      this.error = explain(error);
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
      const page = await this.api.get<MessagePage>("/api/messages", query, AbortSignal.timeout(TIMEOUT));
      if (mine !== this.#snapshots) return;
      this.conversation = prepend(this.conversation, page.messages);
      this.earlier = page.next;
      if (this.conversation.uncertain.size > 0) void loadResults(this.#completion);
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
    await this.api.post("/api/sessions", { session_id: sessionId }, { timeout: CONNECT_TIMEOUT });
    if (sessionId !== this.sessionId) return;
    this.error = "";
    const isNew = !this.#exists;
    this.#exists = true;
    forgetSession(sessionId);
    if (isNew) this.#listener.onSession(sessionId, true);
  }

  /** Get ready for a conversation that does not exist yet. */
  async #prepare(mine: number): Promise<void> {
    const { tools } = await this.api.get<ToolList>("/api/tools", {}, AbortSignal.timeout(CONNECT_TIMEOUT));
    this.#setTools(tools);
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
        this.#setConnection(state, delay, this.#stream?.silence);
        if (state !== "connected") return;
        this.#applyQueue();
        this.conversation = interruptText(this.conversation); // pieces of it may have been missed
        this.outbox.start();
        this.#repeater.hurry();
      },
      onFailure: (problem) => this.#fail(problem, mine),
    });
    this.#stream.open();
    this.#titles = this.#loadTools(this.sessionId).catch(() => undefined); // titles and suggestions are optional
  }

  #fail(error: unknown, mine: number): void {
    this.#setConnection("lost");
    if (error instanceof Problem && error.status === 401) return this.#listener.onDenied(this.api.token.get() !== "");
    if (error instanceof Problem && error.status === 404 && this.#exists) return this.#leaveMissing();
    if (error instanceof Problem) this.error = error.message;
    const again = () => void (mine === this.#generation && this.#connect());
    this.#retry = setTimeout(again, Math.min(3000, 500 * 2 ** this.#failures++));
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

  #setConnection(state: ConnectionState, delay = 0, silence = 0): void {
    if (state === "connected") this.#failures = 0;
    this.connection = { state, delay, silence };
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
      if (kind === "human_answer" || kind === "wallet_tx_response") this.#answers.arrived(String(data["request_id"]));
    }
    if (step.announcement !== null) this.#listener.onAnnouncement(step.announcement);
    this.#host.requestUpdate();
  }

  #begin(snapshot: Snapshot): void {
    this.#queue = [];
    this.#snapshots++;
    this.conversation = begin(snapshot, this.conversation);
    this.outbox.seen(snapshot.last_seq ?? 0);
    this.isReady = true;
    this.earlier = snapshot.messages_next ?? null;
    if (this.conversation.uncertain.size > 0) void loadResults(this.#completion);
    void loadRequests(this.#completion, snapshot.open_requests ?? []);
    void this.#loadHistory(snapshot.last_seq ?? 0);
    this.#host.requestUpdate();
  }

  /** Add the history of the cards, after their titles. */
  async #loadHistory(lastSeq: number): Promise<void> {
    const mine = this.#snapshots;
    await this.#titles;
    if (mine === this.#snapshots) await loadHistory(this.#completion, lastSeq);
  }

  async #loadTools(sessionId: string): Promise<void> {
    const isWanted = () => sessionId === this.sessionId;
    const found = await this.#repeat<ToolList>("/api/tools", { session_id: sessionId }, isWanted);
    if (found !== undefined) this.#setTools(found.tools);
  }

  #setTools(tools: readonly ToolInfo[]): void {
    this.tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#host.requestUpdate();
  }

  /** Read what completes the present snapshot. Undefined if there is another one, or if the server refuses. */
  async #read<T>(path: string, query: Query): Promise<T | undefined> {
    const mine = this.#snapshots;
    const isWanted = () => mine === this.#snapshots;
    const found = await this.#repeat<T>(path, { session_id: this.sessionId, ...query }, isWanted).catch(
      () => undefined,
    );
    return isWanted() ? found : undefined;
  }

  #repeat<T>(path: string, query: Query, isWanted: () => boolean): Promise<T | undefined> {
    const read = (signal: AbortSignal) => this.api.get<T>(path, query, signal);
    return this.#repeater.send(read, { isWanted, isRetried: ({ status }) => status >= 500 || status === 429 });
  }

  // Helpers

  #newOutbox(): Outbox {
    const { sessionId } = this;
    return new Outbox(sessionId, {
      send: async ({ id, text }, signal) => {
        const message = { session_id: sessionId, message: text, message_id: id };
        return sendMessage(this.api, message, await this.pageTools(), signal);
      },
      onChange: () => this.#host.requestUpdate(),
      onDenied: () => this.#listener.onDenied(this.api.token.get() !== ""),
    });
  }

  #newAnswers(): RequestAnswers {
    const controller = this;
    return new RequestAnswers({
      repeater: this.#repeater,
      get api() {
        return controller.api;
      },
      get sessionId() {
        return controller.sessionId;
      },
      onChange: () => this.#host.requestUpdate(),
      onClosed: (requestId, decision, said) => {
        this.conversation = closeRequest(this.conversation, requestId, decision);
        if (decision === null) this.error = said; // else the card has it
        this.#listener.onAnnouncement(said);
        this.#host.requestUpdate();
      },
    });
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
