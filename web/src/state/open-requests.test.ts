import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiClient, Query } from "../api/api-client.ts";
import { byUrgency, type InboxRequest, inboxRequest, type ListedRequest } from "./inbox-request.ts";
import { OpenRequests } from "./open-requests.ts";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();

function request(number: number, changes: Partial<ListedRequest> = {}): ListedRequest {
  const ids = { request_id: `r${number}`, session_id: "s", execution_id: `x${number}` };
  return { ...ids, tool: "pay", purpose: "approval", payload: { n: number }, created_at: at(number), ...changes };
}

/** A server with a list of open requests, which a test may change. */
function serverOf(count: number) {
  const all = Array.from({ length: count }, (_, number) => request(number));
  const requests = new OpenRequests();
  const get = async (_path: string, query: Query) => {
    const start = all.findIndex(({ request_id: id }) => id === query["after"]) + 1;
    const page = all.slice(start, start + Number(query["limit"]));
    const isLast = start + page.length === all.length;
    return { requests: page, next: isLast ? null : (page.at(-1)?.request_id ?? null) };
  };
  requests.api = { get } as unknown as ApiClient;
  return { all, requests };
}

const ids = (requests: readonly InboxRequest[]) => requests.map(({ id }) => id);

test("requests arrive once, and those that are known stay the same objects", async () => {
  const { all, requests } = serverOf(2);
  const arrived: string[][] = [];
  requests.addEventListener("callboard-requests-change", (event) => arrived.push(ids(event.arrived)));
  await requests.refresh();
  const before = requests.requests[1];
  all.shift();
  all.push(request(7));
  await requests.refresh();
  await requests.refresh();
  assert.deepEqual(ids(requests.requests), ["r1", "r7"]);
  assert.equal(requests.requests[0], before);
  assert.deepEqual(arrived, [[], ["r7"], []]);
});

test("many requests are loaded in pages, and a refresh keeps those of later pages", async () => {
  const { all, requests } = serverOf(10_000);
  await requests.refresh();
  assert.deepEqual([requests.requests.length, requests.hasMore], [100, true]);
  await requests.loadMore();
  all.splice(50, 1);
  await requests.refresh();
  assert.deepEqual([requests.requests.length, requests.hasMore], [199, true]);
  assert.ok(!ids(requests.requests).includes("r50"));
  await requests.loadMore();
  assert.equal(new Set(ids(requests.requests)).size, 299);
});

test("requests that a page answers are not listed", async () => {
  const { all, requests } = serverOf(1);
  all.push(request(1, { purpose: "front_end_tool" }));
  await requests.refresh();
  assert.deepEqual(ids(requests.requests), ["r0"]);
});

test("a request that was closed here does not come back with an older response", async () => {
  const { requests } = serverOf(2);
  await requests.refresh();
  const late = requests.refresh();
  requests.remove("r0");
  await late;
  assert.deepEqual(ids(requests.requests), ["r1"]);
});

test("requests that expire soonest are first, and then the newest", () => {
  const listed = [request(1), request(2), request(3, { expires_at: at(90) }), request(4, { expires_at: at(60) })];
  assert.deepEqual(ids(byUrgency(listed.map(inboxRequest))), ["r4", "r3", "r2", "r1"]);
});
