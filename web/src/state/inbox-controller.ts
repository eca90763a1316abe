/**
 * The inbox: what waits for the person over all conversations, and what was decided lately. It owns the requests of the
 * view; the open requests themselves are in a store that the page shares.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import type { ApiClient } from "../api/api-client.ts";
import { newId } from "../api/ids.ts";
import { explain, Problem } from "../api/problem.ts";
import type { SessionInfo, ToolInfo } from "../api/wire.ts";
import type { RequestsChangeEvent } from "../events/requests-change-event.ts";
import { texts } from "../texts.ts";
import { nextOrder, orderOf, pageOf, SHOWN, unshown } from "./inbox-order.ts";
import type { InboxRequest, ListedRequest } from "./inbox-request.ts";
import { type OpenRequests, openRequests } from "./open-requests.ts";
import type { AnswerState } from "./request-answers.ts";

const TIMEOUT = 20_000; // milliseconds that the server may take to respond
const DECIDED = 20;
const MAX_DECIDED = 200;

/** How a request was closed. */
export interface ClosedDecision {
  readonly outcome: "approved" | "rejected" | "answered" | "expired" | "withdrawn";
  readonly answer: unknown;
  readonly answered_by: string | null;
  readonly at: string | null;
}

export interface DecidedRequest extends ListedRequest {
  readonly decision: ClosedDecision | null;
}

/** What became of an answer: it was accepted, it was too late, or it can be tried again. */
export type AnswerResult = "accepted" | "late" | "refused";

export class InboxController implements ReactiveController {
  readonly requests: OpenRequests;
  answers: ReadonlyMap<string, AnswerState> = new Map();
  decided: readonly DecidedRequest[] = [];
  /** The titles of conversations, by id. */
  titles: ReadonlyMap<string, string> = new Map();
  tools: ReadonlyMap<string, ToolInfo> = new Map();
  problem = "";
  readonly #host: ReactiveControllerHost;
  readonly #api: ApiClient;
  readonly #keys = new Map<string, { body: string; key: string }>(); // the idempotency keys of answers
  readonly #asked = new Set<string>(); // conversations, tools and requests that were asked for
  #order: readonly string[] = [];
  #page = 0;
  #nextDecided: string | null = null;

  constructor(host: ReactiveControllerHost, api: ApiClient, requests: OpenRequests = openRequests) {
    this.#host = host;
    this.#api = api;
    this.requests = requests;
    host.addController(this);
  }

  hostConnected(): void {
    this.requests.addEventListener("callboard-requests-change", this.#onChange);
    this.#order = orderOf(this.requests.requests);
    void this.load();
  }

  hostDisconnected(): void {
    this.requests.removeEventListener("callboard-requests-change", this.#onChange);
  }

  /** The requests of the page that is shown. */
  get shown(): readonly InboxRequest[] {
    return pageOf(this.#order, this.requests.requests, this.#page).items;
  }

  /** The number of the page that is shown, from 0. */
  get page(): number {
    return pageOf(this.#order, this.requests.requests, this.#page).number;
  }

  /** The number of requests that are loaded and can be shown. */
  get total(): number {
    return this.#order.length;
  }

  get hasNextPage(): boolean {
    return (this.page + 1) * SHOWN < this.#order.length || this.requests.hasMore;
  }

  /** The number of requests that arrived after those that are shown. */
  get fresh(): number {
    return unshown(this.#order, this.requests.requests).length;
  }

  get hasEarlierDecisions(): boolean {
    return this.#nextDecided !== null && this.decided.length < MAX_DECIDED;
  }

  /** Load all that is shown. */
  async load(): Promise<void> {
    await this.#try(async () => {
      await Promise.all([this.requests.refresh(), this.#loadDecided(), this.#loadTools()]);
      this.problem = "";
    });
  }

  /** Show the requests that arrived meanwhile. */
  showFresh(): void {
    this.#order = orderOf(this.requests.requests);
    this.#page = 0;
    this.#complete();
  }

  async turnPage(step: 1 | -1): Promise<void> {
    const wanted = Math.max(0, this.page + step);
    if ((wanted + 1) * SHOWN > this.#order.length && this.requests.hasMore) {
      const isNew = new Set(unshown(this.#order, this.requests.requests).map(({ id }) => id));
      await this.#try(() => this.requests.loadMore());
      const loaded = unshown(this.#order, this.requests.requests).filter(({ id }) => !isNew.has(id));
      this.#order = [...this.#order, ...orderOf(loaded)];
    }
    this.#page = wanted;
    this.#complete();
  }

  async loadEarlierDecisions(): Promise<void> {
    await this.#try(() => this.#loadDecided(this.#nextDecided));
  }

  /** Answer a request as the person has seen it. A repeated answer has the same key, because the first may have arrived. */
  async answer({ id, sessionId, open }: InboxRequest, answer: unknown): Promise<AnswerResult> {
    const hash = open.argumentsHash === null ? {} : { arguments_hash: open.argumentsHash };
    const body = { session_id: sessionId, answer, ...hash };
    const encoded = JSON.stringify(body);
    if (this.#keys.get(id)?.body !== encoded) this.#keys.set(id, { body: encoded, key: newId() });
    const key = this.#keys.get(id)?.key ?? newId();
    this.#setAnswer(id, { isBusy: true, problem: "" });
    try {
      await this.#api.post(`/api/requests/${encodeURIComponent(id)}/answer`, body, { key, timeout: TIMEOUT });
    } catch (error) {
      const isClosed = error instanceof Problem && (error.status === 404 || error.code === "request_closed");
      const isSlow = error instanceof Error && error.name === "TimeoutError";
      this.#setAnswer(id, { isBusy: false, problem: isClosed ? "" : isSlow ? texts.slowAnswer : explain(error) });
      if (!isClosed) return "refused";
      this.requests.remove(id);
      return "late";
    }
    this.#keys.delete(id);
    this.requests.remove(id);
    return "accepted";
  }

  readonly #onChange = (_event: RequestsChangeEvent) => {
    const order = nextOrder(this.#order, this.requests.requests);
    const hasClosed = order.length < this.#order.length;
    this.#order = order;
    if (hasClosed) void this.#try(() => this.#loadDecided());
    this.#complete();
  };

  /** Load what the shown requests need: the titles of their conversations, their tools, and what the list leaves out. */
  #complete(): void {
    this.#host.requestUpdate();
    for (const request of this.shown) {
      this.#loadTitle(request.sessionId);
      if (this.tools.size > 0 && !this.tools.has(request.tool)) this.#loadToolsOf(request.sessionId);
      if (request.open.isCut) this.#loadWhole(request);
    }
    for (const { session_id: id } of this.decided) this.#loadTitle(id);
  }

  /** Load the whole of a request. It is tried again with the next change of the list. */
  #loadWhole(request: InboxRequest): void {
    const what = `request ${request.id}`;
    this.#once(what, async () => {
      await this.requests.complete(request).finally(() => this.#asked.delete(what));
    });
  }

  #loadTitle(sessionId: string): void {
    this.#once(`title ${sessionId}`, async () => {
      const { title } = await this.#api.get<SessionInfo>(`/api/sessions/${encodeURIComponent(sessionId)}`);
      this.titles = new Map([...this.titles, [sessionId, title ?? sessionId]]);
    });
  }

  #loadToolsOf(sessionId: string): void {
    this.#once(`tools ${sessionId}`, () => this.#loadTools({ session_id: sessionId }));
  }

  async #loadTools(query: { session_id?: string } = {}): Promise<void> {
    const { tools } = await this.#api.get<{ tools: ToolInfo[] }>("/api/tools", query);
    this.tools = new Map([...tools.map((tool): [string, ToolInfo] => [tool.name, tool]), ...this.tools]);
    this.#complete();
  }

  async #loadDecided(after: string | null = null): Promise<void> {
    const query = { status: "closed", limit: DECIDED, ...(after === null ? {} : { after }) };
    const page = await this.#api.get<{ requests: DecidedRequest[]; next: string | null }>("/api/requests", query);
    this.decided = after === null ? page.requests : [...this.decided, ...page.requests];
    this.#nextDecided = page.next;
    this.#complete();
  }

  /** Load something in addition, once. It is optional. */
  #once(what: string, load: () => Promise<void>): void {
    if (this.#asked.has(what)) return;
    this.#asked.add(what);
    load().then(
      () => this.#host.requestUpdate(),
      () => undefined,
    );
  }

  #setAnswer(id: string, state: AnswerState): void {
    this.answers = new Map([...this.answers, [id, state]]);
    this.#host.requestUpdate();
  }

  async #try(action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.problem = explain(error);
    }
    this.#host.requestUpdate();
  }
}
