/**
 * One tool in detail, and the statistics of it or of all tools. They are loaded again every few seconds while the page
 * is visible.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import { ApiClient, type Query } from "../api/api-client.ts";
import { explain, Problem } from "../api/problem.ts";
import type { MinuteInfo, ToolDetails } from "../api/tool-wire.ts";
import { addBreakerChanges, type BreakerChange, type Hour, hourOf } from "./tool-statistics.ts";

const REFRESH = 5_000; // milliseconds

export class ToolDetailsController implements ReactiveController {
  /** Null while it is loaded, and without a tool. */
  details: ToolDetails | null = null;
  hour: Hour | null = null;
  /** The changes of breakers while the tool is shown. */
  changes: readonly BreakerChange[] = [];
  error = "";
  isMissing = false;
  api = new ApiClient();
  readonly #host: ReactiveControllerHost;
  #name: string | null = null; // the tool that is shown; empty for the statistics of all
  #session: string | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;
  #generation = 0;

  constructor(host: ReactiveControllerHost) {
    this.#host = host;
    host.addController(this);
  }

  hostConnected(): void {
    this.#timer = setInterval(() => {
      if (!globalThis.document?.hidden && !this.isMissing) void this.refresh();
    }, REFRESH);
    void this.refresh();
  }

  hostDisconnected(): void {
    clearInterval(this.#timer);
    this.#generation++;
  }

  /**
   * Show a tool of the server, or with an empty name the statistics of all; null for neither. `session` is the session
   * whose breakers count too.
   */
  show(name: string | null, session: string | null = null): void {
    this.#session = session;
    if (name === this.#name) return;
    this.#name = name;
    this.details = null;
    this.hour = null;
    this.changes = [];
    this.error = "";
    this.isMissing = false;
    void this.refresh();
  }

  async refresh(): Promise<void> {
    const mine = ++this.#generation;
    const name = this.#name;
    if (name === null) return;
    try {
      const [details, { minutes }] = await Promise.all([name === "" ? null : this.#load(name), this.#statistics(name)]);
      if (mine !== this.#generation) return;
      if (this.details !== null && details !== null) {
        this.changes = addBreakerChanges(this.changes, this.details.breakers, details.breakers, Date.now());
      }
      this.details = details;
      this.hour = hourOf(minutes, Date.now());
      this.error = "";
    } catch (error) {
      if (mine !== this.#generation) return;
      this.isMissing = error instanceof Problem && error.status === 404;
      this.error = explain(error);
    }
    this.#host.requestUpdate();
  }

  async #load(name: string): Promise<ToolDetails> {
    const path = `/api/tools/${encodeURIComponent(name)}`;
    if (this.#session === null) return this.api.get<ToolDetails>(path);
    const query: Query = { session_id: this.#session };
    return this.api.get<ToolDetails>(path, query).catch((error: unknown) => {
      if (error instanceof Problem && error.code === "session_not_found") return this.api.get<ToolDetails>(path);
      throw error;
    });
  }

  #statistics(name: string): Promise<{ minutes: readonly MinuteInfo[] }> {
    const query: Query = name === "" ? {} : { tool: name };
    return this.api.get<{ minutes: MinuteInfo[] }>("/api/statistics", query);
  }
}
