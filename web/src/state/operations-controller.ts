/**
 * What the operations view shows, kept up to date while the page is visible: the numbers of the server, the calls of
 * the last hour, and the sessions of the person.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import { ApiClient } from "../api/api-client.ts";
import type { SessionInfo } from "../api/wire.ts";
import { explain, Problem } from "../api/problem.ts";
import { type MinuteInfo, type OperationsInfo, SampleWindow } from "./operations.ts";
import { mergeSessions } from "./session-table.ts";

const INTERVAL = 3_000; // milliseconds between two reports
const SLOW = 4; // reports between two requests for minutes and sessions
const PAGE = 50;
const MAX_SESSIONS = 1_000;

interface SessionPage {
  readonly sessions: readonly SessionInfo[];
  readonly next: string | null;
}

export class OperationsController implements ReactiveController {
  api = new ApiClient();
  info: OperationsInfo | null = null;
  minutes: readonly MinuteInfo[] = [];
  sessions: readonly SessionInfo[] = [];
  readonly window = new SampleWindow();
  /** Why there are no new numbers; empty if there are. */
  problem = "";
  /** Whether the server does not accept the token of the person. */
  isSignedOut = false;
  hasMore = false;
  isLoading = false;
  readonly #host: ReactiveControllerHost;
  #timer: ReturnType<typeof setInterval> | undefined;
  #abort = new AbortController();
  #isBusy = false;
  #count = 0;
  #next: string | null = null;

  constructor(host: ReactiveControllerHost) {
    this.#host = host;
    host.addController(this);
  }

  hostConnected(): void {
    this.#abort = new AbortController();
    this.#count = 0;
    globalThis.document?.addEventListener("visibilitychange", this.#onVisibility);
    this.#onVisibility();
  }

  hostDisconnected(): void {
    globalThis.document?.removeEventListener("visibilitychange", this.#onVisibility);
    this.#stop();
    this.#abort.abort();
  }

  /** Whether new numbers are requested. */
  get isPolling(): boolean {
    return this.#timer !== undefined;
  }

  /** Request new numbers now. One request runs at a time. */
  async poll(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      await this.#load();
      this.problem = "";
      this.isSignedOut = false;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.problem = explain(error);
      this.isSignedOut = error instanceof Problem && error.status === 401;
    } finally {
      this.#isBusy = false;
    }
    this.#host.requestUpdate();
  }

  /** Load the next page of sessions. */
  async more(): Promise<void> {
    if (this.#next === null || this.isLoading) return;
    this.isLoading = true;
    this.#host.requestUpdate();
    try {
      this.#takePage(await this.#page(this.#next), true);
    } catch (error) {
      if (!this.#abort.signal.aborted) this.problem = explain(error);
    } finally {
      this.isLoading = false;
      this.#host.requestUpdate();
    }
  }

  async #load(): Promise<void> {
    const { signal } = this.#abort;
    this.info = await this.api.get<OperationsInfo>("/api/operations", {}, signal);
    this.window.add(this.info);
    if (this.#count++ % SLOW !== 0) return;
    const [statistics, page] = await Promise.all([
      this.api.get<{ minutes: readonly MinuteInfo[] }>("/api/statistics", {}, signal),
      this.#page(),
    ]);
    this.minutes = statistics.minutes;
    if (page.next === null) this.sessions = []; // it is the whole list, without sessions that were deleted
    this.#takePage(page, this.sessions.length === 0);
  }

  #page(after = ""): Promise<SessionPage> {
    const cursor = after === "" ? {} : { after };
    return this.api.get<SessionPage>("/api/sessions", { order: "recent", limit: PAGE, ...cursor }, this.#abort.signal);
  }

  /** Take a page of sessions; `isNext` says whether the following page comes after it. */
  #takePage({ sessions, next }: SessionPage, isNext: boolean): void {
    this.sessions = mergeSessions(this.sessions, sessions);
    if (isNext) this.#next = next;
    this.hasMore = this.#next !== null && this.sessions.length < MAX_SESSIONS;
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  readonly #onVisibility = () => {
    this.#stop();
    this.#host.requestUpdate();
    if (globalThis.document?.hidden) return;
    this.#timer = setInterval(() => void this.poll(), INTERVAL);
    void this.poll();
  };
}
