/** A manager of executions for a test, with a clock that the test advances. */

import assert from "node:assert/strict";
import * as z from "zod";
import { ToolError } from "../tools/errors.ts";
import {
  ToolExecutionManager,
  type ToolExecutionManagerEventMap,
  type ToolExecutionManagerOptions,
} from "../tools/tool-execution-manager.ts";
import type { ToolExecutor } from "../tools/tool-executor.ts";
import type { ToolDefinition, ToolMetadata } from "../tools/types.ts";
import { ManualClock } from "./manual-clock.ts";

export const KINDS = ["started", "validating", "executing", "retrying", "succeeded", "failed", "cancelled"] as const;
export const transient = () => new ToolError("away", { category: "transient" });
export const never = () => new Promise<string>(() => {});

export let clock: ManualClock;
export let manager: ToolExecutionManager;
/** The events of the executions: kind, status and attempt. */
export let seen: string[];

/** Make the manager of a test. Its chance is always 0.5. */
export function managed(executor?: ToolExecutor, options: ToolExecutionManagerOptions = {}): void {
  manager = new ToolExecutionManager(executor, {}, { clock, random: () => 0.5, ...options });
  seen = [];
  for (const kind of KINDS) {
    const type: keyof ToolExecutionManagerEventMap = `tool-execution-${kind}`;
    manager.addEventListener(type, ({ detail: { execution } }) => {
      seen.push(`${kind} ${execution.status} ${execution.retry.attemptNumber}`);
    });
  }
}

export function tool(handler: ToolDefinition["handler"], metadata: ToolMetadata = {}): ToolDefinition {
  return { name: "t", description: "T.", schema: z.object({ n: z.number().optional() }), metadata, handler };
}

/** Make a handler that fails as often as there are errors, and then succeeds. */
export function failing(...errors: unknown[]): ToolDefinition["handler"] {
  return async () => {
    if (errors.length > 0) throw errors.shift();
    return "done";
  };
}

/** Return the id of the newest execution of a call. */
export function idOf(toolCallId: string): string {
  const { id } = manager.getExecutionsForToolCall(toolCallId).at(-1) ?? assert.fail(`no execution of ${toolCallId}`);
  return id;
}

/** Begin a test: with a new clock and a manager with the default options. */
export function begin(): void {
  clock = new ManualClock();
  managed();
}
