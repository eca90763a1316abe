import assert from "node:assert/strict";
import { test } from "node:test";
import { nextOrder, orderOf, pageOf, unshown } from "./inbox-order.ts";
import { type InboxRequest, inboxRequest } from "./inbox-request.ts";

function requests(...numbers: number[]): InboxRequest[] {
  return numbers.map((number) => {
    const ids = { request_id: `r${number}`, session_id: "s", execution_id: "x", tool: "t" };
    return inboxRequest({ ...ids, created_at: String(number).padStart(6, "0") });
  });
}

test("new requests are shown on demand, and closed ones are gone at once", () => {
  const order = nextOrder([], requests(1, 2));
  assert.deepEqual(order, ["r2", "r1"]);
  const later = requests(2, 3);
  const kept = nextOrder(order, later);
  assert.deepEqual(kept, ["r2"]);
  assert.deepEqual(
    unshown(kept, later).map(({ id }) => id),
    ["r3"],
  );
  assert.deepEqual(orderOf(later), ["r3", "r2"]);
});

test("new requests are shown at once if there were none", () => {
  assert.deepEqual(nextOrder(["r1"], requests(5)), ["r5"]);
});

test("a page has a bounded number of requests", () => {
  const all = requests(...Array.from({ length: 45 }, (_, number) => number));
  const order = orderOf(all);
  assert.deepEqual(
    [0, 1, 2, 9].map((page) => pageOf(order, all, page).items.length),
    [20, 20, 5, 5],
  );
  assert.equal(pageOf([], [], 3).number, 0);
});
