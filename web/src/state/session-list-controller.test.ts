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
