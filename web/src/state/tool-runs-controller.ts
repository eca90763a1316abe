/**
 * Runs of tools by hand, in a session of their own.
 *
 * The session is created with the first run, and the browser remembers its id. Its board is read while the element is
 * connected, so that progress, requests and results arrive as in a conversation. The model takes no part in it.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import { newId } from "../api/ids.ts";
import { explain, Problem } from "../api/problem.ts";
import type { OutcomeInfo } from "../api/tool-wire.ts";
import type { BoardEvent, ExecutionInfo } from "../api/wire.ts";
import { type Conversation, EMPTY_CONVERSATION } from "./conversation.ts";
import { addHistory } from "./reducer.ts";
import { SessionController } from "./session-controller.ts";
import { browserStorage, type TextStorage } from "./storage.ts";
import { callsOf, type Run, type ShownRun, shownRuns } from "./tool-runs.ts";

const SESSION = "callboard.tools-session";
const EARLIER = 100; // executions that are listed
const EVENTS = 500; // past events that are read for the history of their cards
const KEPT = 100; // runs that are remembered

export interface ToolRunsListener {
  /** The server requires a token. `wasRefused` if it refused one. */
  onDenied(wasRefused: boolean): void;
  /** A text for screen readers. */
  onAnnouncement(text: string): void;
}

export class ToolRunsController implements ReactiveController {
  /** Requests, answers and live calls of the session. */
  readonly session: SessionController;
  earlier: Conversation = EMPTY_CONVERSATION;
  runs: readonly Run[] = [];
  readonly #host: ReactiveControllerHost;
  readonly #title: string;
  readonly #storage: TextStorage;
  #opened = ""; // the session that is being read
  #created: string | null = null; // the session, for a browser that stores nothing
  #isConnected = false; // the element
  #wasConnected = false; // the board
  #opening: Promise<string> | null = null;

  /** `title` is the name of the session in lists. */
  constructor(
    host: ReactiveControllerHost,
    listener: ToolRunsListener,
    title: string,
    storage: TextStorage = browserStorage("localStorage"),
  ) {
    this.#host = host;
    this.#title = title;
    this.#storage = storage;
    this.session = new SessionController(host, {
      onDenied: (wasRefused) => listener.onDenied(wasRefused),
      onAnnouncement: (text) => listener.onAnnouncement(text),
      onSession: (sessionId, exists) => {
        if (!exists && this.#opened !== "" && sessionId !== this.#opened) this.#forget();
      },
    });
    host.addController(this);
  }

  hostConnected(): void {
    this.#isConnected = true;
    const known = this.sessionId;
    if (known !== null) this.#listen(known);
  }

  /** Load earlier runs with each connection, because a snapshot has only those that have not ended. */
  hostUpdate(): void {
    const { connection, isReady } = this.session;
    const isConnected = this.#opened !== "" && connection.state === "connected" && isReady;
    if (isConnected && !this.#wasConnected) this.#loadEarlier();
    this.#wasConnected = isConnected;
  }

  hostDisconnected(): void {
    this.#isConnected = false;
    this.#wasConnected = false;
    this.#opened = "";
  }

  /** The session of the runs. Null before the first run. */
  get sessionId(): string | null {
    return this.#storage.get(SESSION) ?? this.#created;
  }

  /** The runs of a tool, newest first. */
  shown(tool: string): readonly ShownRun[] {
    return shownRuns(tool, this.runs, this.session.conversation, this.earlier);
  }

  /** Run a tool. The result comes over the board. */
  async start(tool: string, given: unknown): Promise<void> {
    const run: Run = { callId: newId(), tool, arguments: given, state: "sending", problem: "", outcome: null };
    this.runs = [...this.runs, run].slice(-KEPT);
    this.#host.requestUpdate();
    await this.#send(run);
  }

  /** Send a run again whose request failed. If it had arrived after all, it does not run twice. */
  async retry(callId: string): Promise<void> {
    const run = this.runs.find((each) => each.callId === callId && each.state === "unsent");
    if (run !== undefined) await this.#send(run);
  }

  async #send(run: Run): Promise<void> {
    const { callId } = run;
    this.#change(callId, { state: "sending", problem: "" });
    try {
      const outcome = await this.#post(run).catch((error: unknown) => {
        if (!isMissing(error) || this.sessionId === null) throw error;
        this.#forget();
        return this.#post(run); // in a new session
      });
      this.#change(callId, { state: "sent", outcome });
      // one that ended before the board was read has its history in the list
      if (!this.session.conversation.keys.has(callId)) this.#loadEarlier();
    } catch (error) {
      this.#change(callId, { state: "unsent", problem: explain(error) });
    }
  }

  async #post({ callId, tool, arguments: given }: Run): Promise<OutcomeInfo> {
    this.#opening ??= this.#open().finally(() => (this.#opening = null));
    const body = { session_id: await this.#opening, tool, arguments: given, call_id: callId };
    return this.session.api.post<OutcomeInfo>("/api/executions", body);
  }

  /** Open the session of the runs, and create it before the first. */
  async #open(): Promise<string> {
    const known = this.sessionId;
    const sessionId = known ?? `s${newId()}`;
    await this.session.api.post("/api/sessions", { session_id: sessionId });
    if (known === null) {
      this.#remember(sessionId);
      const path = `/api/sessions/${encodeURIComponent(sessionId)}`;
      await this.session.api.patch(path, { title: this.#title }).catch(() => undefined); // its name is optional
    }
    this.#listen(sessionId);
    return sessionId;
  }

  #listen(sessionId: string): void {
    if (this.#opened === sessionId || !this.#isConnected) return;
    this.#opened = sessionId;
    this.session.open(sessionId);
  }

  /** Load the runs that have ended. The list is newer than the snapshot, so that none is missed in between. */
  #loadEarlier(): void {
    const sessionId = this.#opened;
    if (sessionId === "") return;
    void this.#read(sessionId)
      .then((found) => {
        if (sessionId !== this.#opened) return;
        this.earlier = found;
        this.#host.requestUpdate();
      })
      .catch(() => undefined); // those on the board are shown without them
  }

  async #read(sessionId: string): Promise<Conversation> {
    const query = { session_id: sessionId, limit: EARLIER };
    const { executions } = await this.session.api.get<{ executions: ExecutionInfo[] }>("/api/executions", query);
    const { events } = await this.session.api.get<{ events: BoardEvent[] }>("/api/events", { ...query, limit: EVENTS });
    return addHistory(callsOf(executions), events);
  }

  /** Forget a session that was deleted, or that belongs to another user. The next run creates another. */
  #forget(): void {
    this.#remember(null);
    this.#opened = "";
    this.earlier = EMPTY_CONVERSATION;
    this.#host.requestUpdate();
  }

  #remember(sessionId: string | null): void {
    this.#created = sessionId;
    this.#storage.set(SESSION, sessionId);
  }

  #change(callId: string, changes: Partial<Run>): void {
    this.runs = this.runs.map((run) => (run.callId === callId ? { ...run, ...changes } : run));
    this.#host.requestUpdate();
  }
}

/** Whether a session was deleted, or belongs to another user. */
function isMissing(error: unknown): boolean {
  return error instanceof Problem && error.status === 404;
}
