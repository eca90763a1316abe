/**
 * The conversations of the person, the newest first. It owns the requests of the sidebar: the first page again and again,
 * later pages as the reader scrolls.
 *
 * A server without titles lists its sessions by id; then the ids stand for the titles.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import { ApiClient, type Query } from "../api/api-client.ts";
import type { SessionInfo } from "../api/wire.ts";
import { mergeFirstPage, mergeNextPage } from "./session-list.ts";
import { whileVisible } from "./while-visible.ts";

const REFRESH = 15_000; // milliseconds between two requests while the page is visible
const PAGE = 50;

interface SessionPage {
  readonly sessions: readonly SessionInfo[];
  readonly next: string | null;
}

export class SessionListController implements ReactiveController {
  sessions: readonly SessionInfo[] = [];
  search = "";
  /** The conversation that is open. Its title is known even if it is not listed. */
  current = "";
  isLoaded = false;
  isLoadingMore = false;
  api = new ApiClient();
  readonly #host: ReactiveControllerHost;
  #stop: () => void = () => undefined;
  #hasTitles: boolean | null = null;
  #generation = 0; // increases with each refresh, so that responses to an older one are dropped
  #listed: string | null = null; // the search of the listed sessions
  #next: string | null = null;
  #unlisted: SessionInfo | null = null;
  #isWanted = false; // nothing is loaded before the first refresh, which is after the sign-in

  constructor(host: ReactiveControllerHost) {
    this.#host = host;
    host.addController(this);
  }

  hostConnected(): void {
    this.#stop = whileVisible(REFRESH, () => {
      if (this.#isWanted && !this.api.token.isDenied) void this.refresh();
    });
  }

  hostDisconnected(): void {
    this.#stop();
    this.#generation++;
  }

  /** Whether conversations have titles, so that they can be searched and renamed. */
  get hasTitles(): boolean {
    return this.#hasTitles === true;
  }

  /** Whether the server has more conversations than those listed. */
  get hasMore(): boolean {
    return this.#next !== null;
  }

  /** The title of the open conversation. Empty if it is not known. */
  get currentTitle(): string {
    const found = this.sessions.find(({ session_id: id }) => id === this.current) ?? this.#unlisted;
    return found?.session_id === this.current ? (found.title ?? "") : "";
  }

  /** Load the newest conversations. Without a connection or a token, the list stays as it is. */
  async refresh(): Promise<void> {
    const mine = ++this.#generation;
    const { search } = this;
    this.#isWanted = true;
    try {
      const { sessions, next } = await this.#load(search);
      if (mine !== this.#generation) return;
      const isSame = this.#listed === search;
      this.sessions = isSame ? mergeFirstPage(this.sessions, sessions, next === null) : sessions;
      if (!isSame || next === null) this.#next = next;
      this.#listed = search;
      this.isLoaded = true;
      this.#host.requestUpdate();
      await this.#loadCurrent();
    } catch {
      // the chat shows the state of the connection
    }
  }

  /** Load the conversations after those listed. */
  async loadMore(): Promise<void> {
    if (this.#next === null || this.isLoadingMore) return;
    this.isLoadingMore = true;
    const search = this.#listed;
    try {
      const { sessions, next } = await this.#page({ ...this.#query(search ?? ""), after: this.#next });
      if (search !== this.#listed) return;
      this.sessions = mergeNextPage(this.sessions, sessions);
      this.#next = next;
    } catch {
      // the next scroll tries again
    } finally {
      this.isLoadingMore = false;
      this.#host.requestUpdate();
    }
  }

  async rename(sessionId: string, title: string): Promise<void> {
    await this.api.patch(pathOf(sessionId), { title });
    this.sessions = this.sessions.map((each) => (each.session_id === sessionId ? { ...each, title } : each));
    if (this.#unlisted?.session_id === sessionId) this.#unlisted = { ...this.#unlisted, title };
    this.#host.requestUpdate();
    await this.refresh();
  }

  async delete(sessionId: string): Promise<void> {
    await this.api.delete(pathOf(sessionId));
    this.sessions = this.sessions.filter((each) => each.session_id !== sessionId);
    this.#host.requestUpdate();
    await this.refresh();
  }

  /** Forget all conversations, because the person signs out. */
  clear(): void {
    this.#generation++;
    this.sessions = [];
    this.isLoaded = false;
    this.#isWanted = false;
    this.#listed = null;
    this.#next = null;
    this.#unlisted = null;
    this.#host.requestUpdate();
  }

  async #load(search: string): Promise<SessionPage> {
    if (this.#hasTitles === null) {
      const [first] = (await this.#page({ limit: 1 })).sessions;
      if (first === undefined) return { sessions: [], next: null };
      this.#hasTitles = "title" in first;
    }
    if (this.#hasTitles) return this.#page(this.#query(search));
    const all = (await this.#page({ limit: 1000 })).sessions;
    return { sessions: [...all].sort(newestFirst).slice(0, PAGE), next: null };
  }

  /** Load the open conversation if it is not among those listed. */
  async #loadCurrent(): Promise<void> {
    const { current } = this;
    if (current === "" || this.sessions.some(({ session_id: id }) => id === current)) return;
    this.#unlisted = await this.api.get<SessionInfo>(pathOf(current));
    this.#host.requestUpdate();
  }

  #query(search: string): Query {
    return { order: "recent", limit: PAGE, ...(search === "" ? {} : { search }) };
  }

  #page(query: Query): Promise<SessionPage> {
    return this.api.get<SessionPage>("/api/sessions", query);
  }
}

const pathOf = (sessionId: string) => `/api/sessions/${encodeURIComponent(sessionId)}`;

const newestFirst = (one: SessionInfo, other: SessionInfo) =>
  (other.created_at ?? "").localeCompare(one.created_at ?? "");
