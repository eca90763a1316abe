/**
 * The conversations of the person, the newest first. It owns the requests of the sidebar.
 *
 * A server without titles lists its sessions by id; then the ids stand for the titles.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import { ApiClient, type Query } from "../api/api-client.ts";
import type { SessionInfo } from "../api/wire.ts";

const REFRESH = 15_000; // milliseconds between two requests while the page is visible
const PAGE = 50;

interface SessionPage {
  readonly sessions: readonly SessionInfo[];
  readonly next: string | null;
}

export class SessionListController implements ReactiveController {
  sessions: readonly SessionInfo[] = [];
  search = "";
  api = new ApiClient();
  readonly #host: ReactiveControllerHost;
  #timer: ReturnType<typeof setInterval> | undefined;
  #hasTitles: boolean | null = null;
  #generation = 0;

  constructor(host: ReactiveControllerHost) {
    this.#host = host;
    host.addController(this);
  }

  hostConnected(): void {
    this.#timer = setInterval(() => {
      if (!globalThis.document?.hidden) void this.refresh();
    }, REFRESH);
  }

  hostDisconnected(): void {
    clearInterval(this.#timer);
    this.#generation++;
  }

  /** Whether conversations have titles, so that they can be searched and renamed. */
  get hasTitles(): boolean {
    return this.#hasTitles === true;
  }

  /** Load the list. Without a connection or a token, the list stays as it is. */
  async refresh(): Promise<void> {
    const mine = ++this.#generation;
    try {
      const found = await this.#load();
      if (mine !== this.#generation) return;
      this.sessions = found;
      this.#host.requestUpdate();
    } catch {
      // the chat shows the state of the connection
    }
  }

  async rename(sessionId: string, title: string): Promise<void> {
    await this.api.patch(`/api/sessions/${encodeURIComponent(sessionId)}`, { title });
    await this.refresh();
  }

  async delete(sessionId: string): Promise<void> {
    await this.api.delete(`/api/sessions/${encodeURIComponent(sessionId)}`);
    await this.refresh();
  }

  async #load(): Promise<readonly SessionInfo[]> {
    if (this.#hasTitles === null) {
      const [first] = (await this.#page({ limit: 1 })).sessions;
      if (first === undefined) return [];
      this.#hasTitles = "title" in first;
    }
    if (!this.#hasTitles) return [...(await this.#page({ limit: 1000 })).sessions].sort(newestFirst).slice(0, PAGE);
    const search: Query = this.search === "" ? {} : { search: this.search };
    return (await this.#page({ order: "recent", limit: PAGE, ...search })).sessions;
  }

  #page(query: Query): Promise<SessionPage> {
    return this.api.get<SessionPage>("/api/sessions", query);
  }
}

const newestFirst = (one: SessionInfo, other: SessionInfo) =>
  (other.created_at ?? "").localeCompare(one.created_at ?? "");
