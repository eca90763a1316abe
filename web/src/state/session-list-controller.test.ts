import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReactiveControllerHost } from "lit";
import type { ApiClient, Query } from "../api/api-client.ts";
import type { SessionInfo } from "../api/wire.ts";
import { SessionListController } from "./session-list-controller.ts";

function listOf(sessions: SessionInfo[]) {
  const queries: Query[] = [];
  const writes: unknown[] = [];
  const api = {
    get: async (_path: string, query: Query) => {
      queries.push(query);
      return { sessions: sessions.slice(0, Number(query["limit"])), next: null };
    },
    patch: async (path: string, body: unknown) => writes.push([path, body]),
    delete: async (path: string) => writes.push([path]),
  };
  const host = { addController: () => undefined, requestUpdate: () => undefined } as unknown as ReactiveControllerHost;
  const list = new SessionListController(host);
  list.api = api as unknown as ApiClient;
  return { list, queries, writes };
}

test("conversations with titles are listed by activity and can be searched", async () => {
  const { list, queries } = listOf([{ session_id: "a", title: "Tea" }]);
  list.search = "tea";
  await list.refresh();
  assert.deepEqual(queries, [{ limit: 1 }, { order: "recent", limit: 50, search: "tea" }]);
  assert.equal(list.hasTitles, true);
});

test("a server without titles is asked for nothing that it does not know", async () => {
  const { list, queries } = listOf([
    { session_id: "a", created_at: "2026-01-01T00:00:00Z" },
    { session_id: "b", created_at: "2026-01-02T00:00:00Z" },
  ]);
  await list.refresh();
  assert.deepEqual(queries, [{ limit: 1 }, { limit: 1000 }]);
  assert.deepEqual(
    list.sessions.map(({ session_id: id }) => id),
    ["b", "a"],
  );
});

test("a conversation is renamed and deleted under its encoded id", async () => {
  const { list, writes } = listOf([]);
  await list.rename("a/b", "Tea");
  await list.delete("a/b");
  assert.deepEqual(writes, [["/api/sessions/a%2Fb", { title: "Tea" }], ["/api/sessions/a%2Fb"]]);
});

/** A server with numbered sessions, the newest first, which are listed in pages. */
function pagesOf(count: number) {
  const all = Array.from({ length: count }, (_, number): SessionInfo => ({
    session_id: `s${number}`,
    title: `Title ${number}`,
    last_activity_at: new Date(Date.UTC(2026, 0, 1) - number * 1000).toISOString(),
  }));
  const { list } = listOf([]);
  const get = async (path: string, query: Query = {}) => {
    if (path !== "/api/sessions") return all.find(({ session_id: id }) => path.endsWith(`/${id}`));
    const start = Number(query["after"] ?? 0);
    const end = start + Number(query["limit"]);
    return { sessions: all.slice(start, end), next: end < all.length ? String(end) : null };
  };
  list.api = { get } as unknown as ApiClient;
  return { list, all };
}

test("later pages are loaded one after the other until there are no more", async () => {
  const { list } = pagesOf(120);
  await list.refresh();
  assert.equal(list.sessions.length, 50);
  while (list.hasMore) await list.loadMore();
  await list.refresh();
  assert.deepEqual([list.sessions.length, list.hasMore], [120, false]);
  assert.equal(new Set(list.sessions.map(({ session_id: id }) => id)).size, 120);
});

test("the title of the open conversation is known even if it is not listed", async () => {
  const { list } = pagesOf(120);
  list.current = "s100";
  await list.refresh();
  assert.equal(list.currentTitle, "Title 100");
  list.current = "s3";
  assert.equal(list.currentTitle, "Title 3");
  list.clear();
  assert.deepEqual([list.currentTitle, list.sessions], ["", []]);
});
