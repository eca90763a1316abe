import assert from "node:assert/strict";
import { test } from "node:test";
import { useMemoryStorage } from "../testing/memory-storage.ts";
import { forgetSession, keepSession, nextSessionId } from "./next-session.ts";

test("a tab keeps its next conversation until it exists", () => {
  useMemoryStorage();
  const first = nextSessionId();
  assert.equal(nextSessionId(), first);
  forgetSession(first);
  assert.notEqual(nextSessionId(), first);
});

test("a conversation with unsent messages outlives its tab", () => {
  const { session, local } = useMemoryStorage();
  const ids = [nextSessionId()];
  keepSession(ids[0] ?? "");
  session.clear(); // the tab was closed
  assert.equal(nextSessionId(), ids[0]);
  forgetSession(ids[0] ?? "");
  assert.equal(local.size, 0);
});
