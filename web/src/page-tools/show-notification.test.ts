import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { settle } from "../testing/manual-clock.ts";
import { ATTEMPT, usePageGlobals } from "../testing/page-globals.ts";
import { gestures } from "./gestures.ts";
import { showNotificationTool } from "./show-notification.ts";

let restore = () => {};
afterEach(() => restore());

const TEA = { title: "Tea", body: "It is ready." };

/** Notifications with a permission, and the decision of the person who is asked for it. */
function useNotifications(permission: string, decision = permission): unknown[][] {
  const shown: unknown[][] = [];
  class Notification {
    static permission = permission;
    static requestPermission = async () => decision;
    constructor(...given: unknown[]) {
      shown.push(given);
    }
  }
  restore = usePageGlobals({ Notification });
  return shown;
}

test("a repeated notification replaces the first", async () => {
  const shown = useNotifications("granted");
  assert.equal(await showNotificationTool.handler(TEA, ATTEMPT), "Notified.");
  assert.deepEqual(shown, [["Tea", { body: "It is ready.", tag: "c1" }]]);
});

test("a permission that is missing is asked for after a click", async () => {
  const shown = useNotifications("default", "granted");
  const running = showNotificationTool.handler(TEA, ATTEMPT);
  await settle();
  assert.equal(gestures.waitingFor("c1"), "notify");
  gestures.decide("c1", true);
  await running;
  assert.equal(shown.length, 1);
});

test("a permission that is refused is an error, before and after the click", async () => {
  useNotifications("denied");
  await assert.rejects(async () => showNotificationTool.handler(TEA, ATTEMPT), { message: /does not allow/ });
  restore();
  useNotifications("default", "denied");
  const running = showNotificationTool.handler(TEA, ATTEMPT);
  await settle();
  gestures.decide("c1", true);
  await assert.rejects(async () => running, { category: "permanent", message: /does not allow/ });
});

test("a browser without notifications says so", async () => {
  restore = usePageGlobals({ Notification: undefined });
  await assert.rejects(async () => showNotificationTool.handler(TEA, ATTEMPT), { message: /no notifications/ });
  restore();
  class Notification {
    static permission = "granted";
    constructor() {
      throw new TypeError("Illegal constructor");
    }
  }
  restore = usePageGlobals({ Notification });
  await assert.rejects(async () => showNotificationTool.handler(TEA, ATTEMPT), { message: /does not let pages/ });
});
