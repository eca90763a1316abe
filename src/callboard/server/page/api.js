// Requests to the server, with the token if there is one. An error response is thrown as a `Problem`.

const KEY = "callboard.token";

export class Problem extends Error {
  constructor(status, code, message, errors) {
    super(message);
    this.status = status;
    this.code = code;
    this.errors = errors ?? [];
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

function headers(more = {}) {
  const own = token.get();
  return own ? { ...more, authorization: `Bearer ${own}` } : more;
}

export async function problemOf(response) {
  let document = {};
  try {
    document = await response.json();
  } catch {
    // the response of a proxy may not be JSON
  }
  const message = document.detail || document.title || `The server responded with ${response.status}.`;
  return new Problem(response.status, document.code ?? "", message, document.errors);
}

export async function get(path, query = {}) {
  const response = await fetch(`${path}?${new URLSearchParams(query)}`, { headers: headers({ accept: "application/json" }) });
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

/** `key` is the idempotency key; `timeout` limits the milliseconds until the response. */
export async function post(path, body, { key, timeout } = {}) {
  const more = key ? { "idempotency-key": key } : {};
  const response = await fetch(path, {
    method: "POST",
    headers: headers({ "content-type": "application/json", accept: "application/json", ...more }),
    body: JSON.stringify(body),
    signal: timeout ? AbortSignal.timeout(timeout) : undefined,
  });
  if (!response.ok) throw await problemOf(response);
  return response.status === 204 ? null : response.json();
}

export function open(path, query, signal) {
  return fetch(`${path}?${new URLSearchParams(query)}`, {
    headers: headers({ accept: "text/event-stream" }),
    cache: "no-store",
    signal,
  });
}
