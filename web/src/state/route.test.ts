import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRoute, route, routeQuery, VIEWS } from "./route.ts";

test("a route survives its query, whatever its ids contain", () => {
  for (const view of VIEWS) {
    const to = route({ view, session: "a&b=c/é ", call: "?#", request: "r_1", tool: "x.y" });
    assert.deepEqual(parseRoute(routeQuery(to)), to);
  }
});

test("the chat of no conversation is the default", () => {
  assert.deepEqual(parseRoute(""), route());
  assert.deepEqual(parseRoute("?view=unknown"), route());
  assert.equal(routeQuery({}), "?");
});
