import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { systemClock } from "./clock.ts";
import { ExecutionHistory } from "./execution-history.ts";
import { LiveExecution } from "./live-execution.ts";
import { DEFAULT_RETRY_CONFIG } from "./types.ts";

test("keeps all that run, and the newest that have ended", () => {
  const tool = { name: "t", description: "T.", schema: z.object({}), handler: () => "" };
  const history = new ExecutionHistory(2);
  const [running, first, second, third] = Array.from({ length: 4 }, () => {
    const made = new LiveExecution(tool, "c", {}, DEFAULT_RETRY_CONFIG, systemClock);
    history.add(made);
    return made;
  }) as [LiveExecution, LiveExecution, LiveExecution, LiveExecution];
  for (const execution of [second, first, third]) history.noteEnd(execution);
  assert.deepEqual(history.all(), [running, first, third]);
  assert.equal(history.get(second.id), undefined);
  assert.equal(history.get(third.id), third);
});
