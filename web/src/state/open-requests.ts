/**
 * The open requests to the person, over all conversations. The page has one store of them: the badge counts them, and the
 * inbox shows them.
 *
 * The server lists them in pages, oldest first. The first page is read again and again; later ones on demand. A request
 * that is known stays the same object, so that a form keeps what was entered.
 */
import { ApiClient, type Query } from "../api/api-client.ts";
import { RequestsChangeEvent } from "../events/requests-change-event.ts";
import { TypedEventTarget } from "../events/typed-event-target.ts";
import { type InboxRequest, inboxRequest, type ListedRequest } from "./inbox-request.ts";
import { requestPath } from "./open-request.ts";

/** Requests of a page. The badge counts up to the first page. */
export const PAGE = 100;

interface RequestPage {
  readonly requests: readonly ListedRequest[];
  readonly next: string | null;
}

export class OpenRequests extends TypedEventTarget<{ "callboard-requests-change": RequestsChangeEvent }> {
  requests: readonly InboxRequest[] = [];
  isLoaded = false;
  api = new ApiClient();
  #next: string | null = null;
  #generation = 0;
  #isLoadingMore = false;

  /** Whether the server has more open requests than those that are loaded. */
  get hasMore(): boolean {
    return this.#next !== null;
  }

  /** Load the first page. Raises `Problem`. */
  async refresh(): Promise<void> {
    const mine = ++this.#generation;
    const page = await this.#page({ limit: PAGE });
    if (mine !== this.#generation) return;
    const wasLoaded = this.isLoaded;
    const before = this.requests;
    const first = this.#known(page.requests);
    const isFirst = before.length <= PAGE || !wasLoaded;
    this.requests = page.next === null ? first : [...first, ...restOf(before, first)];
    if (page.next === null || isFirst) this.#next = page.next;
    this.isLoaded = true;
    const known = new Set(before.map(({ id }) => id));
    this.#report(wasLoaded ? this.requests.filter(({ id }) => !known.has(id)) : []);
  }

  /** Load the page after those that are loaded. Raises `Problem`. */
  async loadMore(): Promise<void> {
    if (this.#next === null || this.#isLoadingMore) return;
    this.#isLoadingMore = true;
    try {
      const page = await this.#page({ limit: PAGE, after: this.#next });
      const listed = new Set(this.requests.map(({ id }) => id));
      this.requests = [...this.requests, ...this.#known(page.requests).filter(({ id }) => !listed.has(id))];
      this.#next = page.next;
    } finally {
      this.#isLoadingMore = false;
    }
    this.#report([]);
  }

  /** Load the whole of a request. Raises `Problem`. */
  async complete(request: InboxRequest): Promise<void> {
    const query = { session_id: request.sessionId };
    const whole = inboxRequest(await this.api.get<ListedRequest>(requestPath(request.id), query));
    this.requests = this.requests.map((each) => (each.id === request.id ? whole : each));
    this.#report([]);
  }

  /** Remove a request that was closed. */
  remove(id: string): void {
    this.#generation++; // a response that is on its way may still have it
    this.requests = this.requests.filter((each) => each.id !== id);
    this.#report([]);
  }

  /** Forget all requests, because the person signs out. */
  clear(): void {
    this.#generation++;
    this.requests = [];
    this.isLoaded = false;
    this.#next = null;
    this.#report([]);
  }

  #known(page: readonly ListedRequest[]): InboxRequest[] {
    const known = new Map(this.requests.map((each) => [each.id, each]));
    return page
      .filter(({ purpose }) => purpose !== "front_end_tool") // a page answers it, not a person
      .map((each) => known.get(each.request_id) ?? inboxRequest(each));
  }

  #page(query: Query): Promise<RequestPage> {
    return this.api.get<RequestPage>("/api/requests", query);
  }

  #report(arrived: readonly InboxRequest[]): void {
    this.dispatchEvent(new RequestsChangeEvent(arrived));
  }
}

/** The store of the page. */
export const openRequests = new OpenRequests();

/** The requests of later pages. One that belongs into the first page and is not in it was closed. */
function restOf(listed: readonly InboxRequest[], first: readonly InboxRequest[]): InboxRequest[] {
  const found = new Set(first.map(({ id }) => id));
  const newest = first.at(-1)?.createdAt ?? "";
  return listed.filter(({ id, createdAt }) => !found.has(id) && createdAt >= newest);
}
