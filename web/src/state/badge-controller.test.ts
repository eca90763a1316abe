import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReactiveControllerHost } from "lit";
import type { ApiClient } from "../api/api-client.ts";
import { BadgeController } from "./badge-controller.ts";
import { OpenRequests } from "./open-requests.ts";

function badgeOf(ids: string[]) {
  const requests = new OpenRequests();
  const asked: number[] = [];
  const get = async () => {
    asked.push(ids.length);
    const listed = ids.map((id) => ({ request_id: id, session_id: "s", execution_id: id, tool: "t", created_at: id }));
    return { requests: listed, next: null };
  };
  requests.api = { get, token: { isDenied: false } } as unknown as ApiClient;
  const arrived: string[] = [];
  const host = { addController: () => undefined, requestUpdate: () => undefined } as unknown as ReactiveControllerHost;
  const badge = new BadgeController(host, (each) => arrived.push(...each.map(({ id }) => id)), requests);
  badge.hostConnected();
  return { badge, asked, arrived, requests };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("nothing is counted before the sign-in, and arrivals are reported once", async () => {
  const ids = ["a"];
  const { badge, asked, arrived } = badgeOf(ids);
  badge.refresh();
  assert.deepEqual(asked, []);
  badge.start();
  await settled();
  assert.deepEqual([badge.count, arrived], [1, []]);
  ids.push("b");
  badge.refresh();
  await settled();
  assert.deepEqual([badge.count, arrived], [2, ["b"]]);
  badge.hostDisconnected();
});

test("a request of the open conversation counts at once, and no longer when it is answered", async () => {
  const ids = ["a"];
  const { badge } = badgeOf(ids);
  badge.start();
  await settled();
  badge.setOpenHere(["b", "c"]);
  assert.equal(badge.count, 2);
  ids.push("b", "c");
  await settled();
  badge.refresh();
  await settled();
  assert.equal(badge.count, 3);
  ids.splice(1, 1);
  badge.setOpenHere(["c"]);
  assert.equal(badge.count, 2, "before the response of the server");
  badge.leaveConversation();
  badge.setOpenHere([]);
  await settled();
  assert.equal(badge.count, 2, "requests of another conversation are still open");
  badge.hostDisconnected();
});
