import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReactiveControllerHost } from "lit";
import type { ApiClient, Query } from "../api/api-client.ts";
import { Problem } from "../api/problem.ts";
import { InboxController } from "./inbox-controller.ts";
import type { ListedRequest } from "./inbox-request.ts";
import { OpenRequests } from "./open-requests.ts";

function request(number: number, changes: Partial<ListedRequest> = {}): ListedRequest {
  const ids = { request_id: `r${number}`, session_id: "s1", execution_id: `x${number}`, tool: "pay" };
  return { ...ids, purpose: "approval", arguments_hash: `h${number}`, created_at: `00${number}`, ...changes };
}

function inboxOf(open: ListedRequest[], post: (path: string, body: unknown) => Promise<unknown>) {
  const posted: [string, unknown, string][] = [];
  const read: string[] = [];
  const api = {
    get: async (path: string, query: Query = {}) => {
      read.push(path);
      if (path === "/api/tools") return { tools: [{ name: "pay", title: "Pay" }] };
      if (path.startsWith("/api/sessions/")) return { session_id: "s1", title: "Lunch" };
      if (path !== "/api/requests") return request(Number(path.at(-1)), { payload: "whole" });
      return { requests: query["status"] === "closed" ? [] : open, next: null };
    },
    post: async (path: string, body: unknown, { key }: { key: string }) => {
      posted.push([path, body, key]);
      return post(path, body);
    },
  } as unknown as ApiClient;
  const host = { addController: () => undefined, requestUpdate: () => undefined } as unknown as ReactiveControllerHost;
  const requests = new OpenRequests();
  requests.api = api;
  const inbox = new InboxController(host, api, requests);
  inbox.hostConnected();
  return { inbox, posted, read };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

test("what waits is shown with the titles of conversations and tools, which are loaded once", async () => {
  const { inbox, read } = inboxOf([request(1), request(2)], async () => ({}));
  await settled();
  assert.deepEqual(
    inbox.shown.map(({ id }) => id),
    ["r2", "r1"],
  );
  assert.deepEqual([inbox.titles.get("s1"), inbox.tools.get("pay")?.title], ["Lunch", "Pay"]);
  assert.equal(read.filter((path) => path === "/api/sessions/s1").length, 1);
});

test("an answer names the arguments that were seen, and its request is gone", async () => {
  const { inbox, posted } = inboxOf([request(1)], async () => ({ seq: 1 }));
  await settled();
  const [first] = inbox.shown;
  assert.ok(first);
  assert.equal(await inbox.answer(first, { approved: true }), "accepted");
  const [path, body] = posted[0] ?? [];
  assert.equal(path, "/api/requests/r1/answer");
  assert.deepEqual(body, { session_id: "s1", answer: { approved: true }, arguments_hash: "h1" });
  assert.deepEqual(inbox.shown, []);
});

test("a repeated answer has the same key, and an answer that is too late is told", async () => {
  const responses = [new Error("offline"), new Problem(409, "request_closed", "Closed")];
  const { inbox, posted } = inboxOf([request(1)], async () => {
    throw responses.shift() ?? new Error();
  });
  await settled();
  const [first] = inbox.shown;
  assert.ok(first);
  assert.equal(await inbox.answer(first, { approved: true }), "refused");
  assert.equal(inbox.answers.get("r1")?.problem, "offline");
  assert.equal(await inbox.answer(first, { approved: true }), "late");
  assert.equal(posted[0]?.[2], posted[1]?.[2]);
  assert.deepEqual(inbox.shown, []);
});

test("a long payload is loaded when its request is shown", async () => {
  const cut = { payload: { excerpt: "who" } };
  const { inbox } = inboxOf([request(1, { payload: null, cut })], async () => ({}));
  await settled();
  assert.equal(inbox.shown[0]?.open.payload, "whole");
  assert.equal(inbox.shown[0]?.open.isCut, false);
});

test("a long payload that cannot be loaded is loaded with the next change", async () => {
  const { inbox, read } = inboxOf(
    [request(1, { payload: null, cut: { payload: { excerpt: "who" } } })],
    async () => ({}),
  );
  const complete = inbox.requests.complete.bind(inbox.requests);
  inbox.requests.complete = () => Promise.reject(new TypeError("Failed to fetch"));
  await settled();
  assert.equal(inbox.shown[0]?.open.isCut, true);
  inbox.requests.complete = complete;
  await inbox.requests.refresh();
  await settled();
  assert.equal(inbox.shown[0]?.open.payload, "whole");
  assert.equal(read.filter((path) => path === "/api/requests/r1").length, 1);
});
