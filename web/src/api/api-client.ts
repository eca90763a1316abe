import { parseJson } from "./exact-integer.ts";
import { Problem } from "./problem.ts";
import { pageToken, TokenStore } from "./token-store.ts";

export type Query = Readonly<Record<string, string | number>>;

/** Options of a request that writes. */
export interface WriteOptions {
  /** The idempotency key: a repeated request with the same key is carried out once. */
  readonly key?: string;
  /** Milliseconds until the response. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

type Init = RequestInit & { headers?: Record<string, string> };

/** Requests to a server, with the token if there is one. An error response is thrown as a `Problem`. */
export class ApiClient {
  readonly base: string;
  readonly token: TokenStore;

  /** `base` is the address of the server without a slash at its end; empty for the server of the page. */
  constructor(base = "", token: TokenStore = base === "" ? pageToken : new TokenStore()) {
    this.base = base.replace(/\/$/, "");
    this.token = token;
  }

  async get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
    const response = await this.#fetch(withQuery(path, query), { signal: signal ?? null });
    return parseJson(await response.text()) as T;
  }

  async post<T>(path: string, body: unknown, options: WriteOptions = {}): Promise<T> {
    return this.#write("POST", path, body, options);
  }

  async patch<T>(path: string, body: unknown, options: WriteOptions = {}): Promise<T> {
    return this.#write("PATCH", path, body, options);
  }

  async delete(path: string): Promise<void> {
    await this.#fetch(path, { method: "DELETE" });
  }

  /** Open a stream of server-sent events. Raises `Problem` if the server refuses it. */
  async open(path: string, query: Query, signal: AbortSignal): Promise<Response> {
    return this.#fetch(withQuery(path, query), { headers: { accept: "text/event-stream" }, cache: "no-store", signal });
  }

  async #write<T>(method: string, path: string, body: unknown, options: WriteOptions): Promise<T> {
    const { key, timeout, signal = timeout === undefined ? null : AbortSignal.timeout(timeout) } = options;
    const response = await this.#fetch(path, {
      method,
      headers: { "content-type": "application/json", ...(key === undefined ? {} : { "idempotency-key": key }) },
      body: JSON.stringify(body),
      signal,
    });
    return (response.status === 204 ? null : parseJson(await response.text())) as T;
  }

  #fetch(path: string, init: Init): Promise<Response> {
    return this.token.send(() => this.#send(path, init));
  }

  async #send(path: string, init: Init): Promise<Response> {
    const token = this.token.get();
    const headers = {
      accept: "application/json",
      ...init.headers,
      ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
    };
    const response = await fetch(this.base + path, { ...init, headers });
    if (response.status === 401) this.token.deny(token);
    else this.token.accept(token);
    if (!response.ok) throw await Problem.of(response);
    return response;
  }
}

function withQuery(path: string, query: Query): string {
  const encoded = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
  return encoded === "" ? path : `${path}?${encoded}`;
}
