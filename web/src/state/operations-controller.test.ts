import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReactiveControllerHost } from "lit";
import type { ApiClient, Query } from "../api/api-client.ts";
import { Problem } from "../api/problem.ts";
import { OperationsController } from "./operations-controller.ts";

const INFO = { at: "2026-11-16T12:00:00Z", is_operator: false, user: {}, process: null };

function made(answer: (path: string, query: Query) => unknown) {
  const asked: string[] = [];
  const host = { addController: () => undefined, requestUpdate: () => undefined } as unknown as ReactiveControllerHost;
  const controller = new OperationsController(host);
  const get = async (path: string, query: Query) => {
    asked.push(`${path}${query["after"] ? `?after=${query["after"]}` : ""}`);
    return answer(path, query);
  };
  controller.api = { get } as unknown as ApiClient;
  return { controller, asked };
}

const answers = (path: string, { after }: Query) => {
  if (path === "/api/operations") return INFO;
  if (path === "/api/statistics") return { minutes: [] };
  return after ? { sessions: [{ session_id: "b" }], next: null } : { sessions: [{ session_id: "a" }], next: "2" };
};

test("minutes and sessions are requested less often than numbers", async () => {
  const { controller, asked } = made(answers);
  for (let time = 0; time < 5; time++) await controller.poll();
  assert.equal(asked.filter((path) => path === "/api/operations").length, 5);
  assert.equal(asked.filter((path) => path === "/api/sessions").length, 2);
});

test("one request runs at a time", async () => {
  const { controller, asked } = made(answers);
  await Promise.all([controller.poll(), controller.poll(), controller.poll()]);
  assert.equal(asked.filter((path) => path === "/api/operations").length, 1);
});

test("sessions are read page by page, and a refresh does not go back", async () => {
  const { controller, asked } = made(answers);
  await controller.poll();
  assert.ok(controller.hasMore);
  await controller.more();
  assert.deepEqual(controller.sessions.map(({ session_id: id }) => id).join(), "a,b");
  assert.ok(!controller.hasMore);
  for (let time = 0; time < 5; time++) await controller.poll();
  assert.ok(!controller.hasMore, "the first page is read again, without its cursor");
  assert.equal(asked.filter((path) => path === "/api/sessions?after=2").length, 1);
});

test("a problem is shown until numbers come again", async () => {
  let fails = true;
  const { controller } = made((path, query) => {
    if (fails) throw new Problem(401, "unauthenticated", "Send an API key.");
    return answers(path, query);
  });
  await controller.poll();
  assert.deepEqual([controller.problem, controller.isSignedOut], ["Send an API key.", true]);
  fails = false;
  await controller.poll();
  assert.deepEqual([controller.problem, controller.isSignedOut], ["", false]);
});

test("polling ends with the view", () => {
  const { controller } = made(answers);
  controller.hostConnected();
  assert.ok(controller.isPolling);
  controller.hostDisconnected();
  assert.ok(!controller.isPolling);
});
