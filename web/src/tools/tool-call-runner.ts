/**
 * Carries out calls of the model with a manager, and tells what happens in the events of the agent.
 *
 * A call is carried out once. Its result is kept, so that it can be sent again if a run was lost before the agent had it.
 */
import type { ToolMessage } from "@ag-ui/client";
import { AgUiToolCallEndEvent } from "../events/ag-ui-tool-call-end.ts";
import { AgUiToolCallErrorEvent } from "../events/ag-ui-tool-call-error.ts";
import { AgUiToolRetryingEvent } from "../events/ag-ui-tool-retrying.ts";
import { AgUiToolStatusChangedEvent } from "../events/ag-ui-tool-status-changed.ts";
import { argsOf, resultMessage, type ThreadCall } from "./thread-calls.ts";
import type { ToolExecutionManager } from "./tool-execution-manager.ts";
import type { ToolDefinition, ToolExecution } from "./types.ts";

const STATUS_EVENTS = [
  "tool-execution-started",
  "tool-execution-validating",
  "tool-execution-executing",
  "tool-execution-succeeded",
  "tool-execution-failed",
  "tool-execution-cancelled",
] as const;
/** The most results that are kept. */
const MAX_RESULTS = 1_000;

export class ToolCallRunner {
  readonly #manager: ToolExecutionManager;
  readonly #dispatch: (event: Event) => unknown;
  readonly #results = new Map<string, Promise<ToolMessage>>();

  constructor(manager: ToolExecutionManager, dispatch: (event: Event) => unknown) {
    this.#manager = manager;
    this.#dispatch = dispatch;
  }

  /** Return whether a call is being carried out, or has been. */
  has(toolCallId: string): boolean {
    return this.#results.has(toolCallId);
  }

  /** Carry out a call, unless that has been done, and return the message with its result. Never rejects. */
  carryOut(call: ThreadCall, tool: ToolDefinition, signal: AbortSignal): Promise<ToolMessage> {
    const known = this.#results.get(call.id);
    if (known !== undefined) return known;
    const result = this.#execute(call, tool, signal);
    this.#results.set(call.id, result);
    const [oldest] = this.#results.keys();
    if (this.#results.size > MAX_RESULTS && oldest !== undefined) this.#results.delete(oldest);
    return result;
  }

  async #execute(call: ThreadCall, tool: ToolDefinition, signal: AbortSignal): Promise<ToolMessage> {
    const { id: toolCallId, name: toolCallName } = call;
    const listening = new AbortController();
    let execution: ToolExecution | undefined;
    for (const type of STATUS_EVENTS) {
      this.#manager.addEventListener(type, ({ detail }) => note(detail.execution), { signal: listening.signal });
    }
    const note = (changed: ToolExecution) => {
      if (changed.toolCallId !== toolCallId) return;
      execution = changed;
      this.#dispatch(
        new AgUiToolStatusChangedEvent({ toolCallId, toolCallName, status: changed.status, execution: changed }),
      );
    };
    this.#manager.addEventListener(
      "tool-execution-retrying",
      ({ detail }) => {
        if (detail.execution.toolCallId !== toolCallId) return;
        this.#dispatch(new AgUiToolRetryingEvent({ toolCallId, toolCallName, ...detail }));
      },
      { signal: listening.signal },
    );
    const outcome = await this.#manager.execute(tool, toolCallId, argsOf(call), signal);
    listening.abort();
    if (outcome.success) {
      this.#dispatch(new AgUiToolCallEndEvent({ toolCallId, toolCallName, result: outcome.result, execution }));
    } else if (execution !== undefined) {
      this.#dispatch(new AgUiToolCallErrorEvent({ toolCallId, toolCallName, error: outcome.error, execution }));
    }
    return resultMessage(toolCallId, outcome);
  }
}
