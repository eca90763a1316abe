/**
 * One run of an agent as the page sees it: a run of the protocol, the calls that it leaves to the page, a run with their
 * results, and so on, until there is nothing left for the page to do.
 *
 * Above it is the element, below it the client of the protocol and the runner of calls.
 */
import type { AgentSubscriber, HttpAgent, Interrupt, Message, RunAgentParameters } from "@ag-ui/client";
import { AgUiInterruptEvent } from "../events/ag-ui-interrupt.ts";
import { AgUiMessagesChangedEvent } from "../events/ag-ui-messages-changed.ts";
import { AgUiRunErrorEvent, type AgUiRunErrorDetail } from "../events/ag-ui-run-error.ts";
import { AgUiRunFinishedEvent } from "../events/ag-ui-run-finished.ts";
import { AgUiRunStartedEvent } from "../events/ag-ui-run-started.ts";
import { AgUiStateChangedEvent } from "../events/ag-ui-state-changed.ts";
import { AgUiToolCallArgsEvent } from "../events/ag-ui-tool-call-args.ts";
import { AgUiToolCallEndEvent } from "../events/ag-ui-tool-call-end.ts";
import { AgUiToolCallPendingEvent } from "../events/ag-ui-tool-call-pending.ts";
import { AgUiToolCallStartEvent } from "../events/ag-ui-tool-call-start.ts";
import type { PendingToolCall } from "./pending-tool-call.ts";
import { argsOf, openCalls, type ThreadCall, withClosedCalls } from "./thread-calls.ts";
import type { ToolCallRunner } from "./tool-call-runner.ts";
import type { ToolRegistry } from "./tool-registry.ts";
import type { ToolDefinition } from "./types.ts";

/** The most runs of the protocol that follow each other without the user: a model may call tools for ever. */
export const MAX_ROUNDS = 100;

/** The end of a run. */
export type AgentRunResult =
  /** There is nothing left to do. */
  | { readonly outcome: "success" }
  /** People must answer, with `resume`. */
  | { readonly outcome: "interrupt"; readonly interrupts: readonly Interrupt[] }
  /** Waiting calls that the page does not execute automatically. */
  | { readonly outcome: "pending"; readonly pendingToolCalls: readonly PendingToolCall[] }
  /** The agent's turn was cancelled, by the agent. */
  | { readonly outcome: "cancelled" }
  /** The page aborted it. */
  | { readonly outcome: "aborted" }
  | { readonly outcome: "error"; readonly error: AgUiRunErrorDetail };

/** The end of one run of the protocol. */
type RoundEnd =
  Exclude<AgentRunResult, { outcome: "success" | "pending" }> | { outcome: "success"; pendingIds: string[] };

/** What a run needs. */
export interface AgentRunParts {
  readonly client: HttpAgent;
  readonly registry: ToolRegistry;
  readonly runner: ToolCallRunner;
  readonly dispatch: (event: Event) => void;
  /** Calls whose beginning was streamed to this page: no other page can have carried them out before. */
  readonly streamedCalls: Set<string>;
}

export class AgentRun {
  readonly #parts: AgentRunParts;
  readonly #abort = new AbortController();
  /** The tools of the present round, so that a call gets the tool that the model saw. */
  #tools: ReadonlyMap<string, ToolDefinition> = new Map();

  constructor(parts: AgentRunParts) {
    this.#parts = parts;
  }

  /** Stop the run, and cancel its calls. */
  abort(): void {
    this.#abort.abort();
    this.#parts.client.abortRun();
    void this.#parts.client.detachActiveRun(); // also if the request ignores that it was aborted
  }

  /** Carry out one call that waits, and keep its result for the next run of the protocol. */
  async execute(call: ThreadCall, tool: ToolDefinition): Promise<void> {
    this.#addMessages([await this.#parts.runner.carryOut(call, tool, this.#abort.signal)]);
  }

  get isAborted(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Carry out the run. Never rejects. */
  async carryOut({ resume, ...lasting }: RunAgentParameters): Promise<AgentRunResult> {
    let parameters: RunAgentParameters = resume === undefined ? lasting : { ...lasting, resume };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const end = await this.#round(parameters);
      if (end.outcome !== "success") return end;
      const result = await this.#answer(end.pendingIds);
      if (result !== undefined) return result;
      parameters = lasting;
    }
    return this.#error({
      message: `The agent called tools ${MAX_ROUNDS} times in a row.`,
      code: undefined,
      cause: undefined,
    });
  }

  /** Carry out one run of the protocol. */
  async #round(parameters: RunAgentParameters): Promise<RoundEnd> {
    const { client, registry } = this.#parts;
    this.#tools = new Map(registry.all().map((tool) => [tool.name, tool]));
    const started = new Set<string>();
    let end: RoundEnd | undefined;
    const subscriber: AgentSubscriber = {
      ...this.#forwarding(started),
      onRunFinishedEvent: (finished) => {
        const { threadId, runId } = finished.event;
        this.#parts.dispatch(new AgUiRunFinishedEvent({ threadId, runId, outcome: finished.outcome }));
        if (finished.outcome === "success") {
          end = { outcome: "success", pendingIds: finished.pendingToolCallIds };
        } else if (finished.outcome === "interrupt") {
          end = { outcome: "interrupt", interrupts: finished.interrupts };
          this.#parts.dispatch(new AgUiInterruptEvent({ interrupts: finished.interrupts }));
        } else {
          end = { outcome: "cancelled" };
        }
      },
      onRunErrorEvent: ({ event }) => {
        if (!this.isAborted) end ??= this.#error({ message: event.message, code: event.code, cause: undefined });
      },
      onRunFailed: ({ error }) => {
        if (!this.isAborted) end ??= this.#failed(error);
      },
    };
    try {
      await client.runAgent({ ...parameters, tools: registry.toAgUiTools() }, subscriber);
    } catch (error) {
      if (!this.isAborted) end ??= this.#failed(error); // one that `onRunFailed` did not get
    }
    if (this.isAborted) {
      client.setMessages(withClosedCalls(client.messages, started));
      this.#parts.dispatch(new AgUiMessagesChangedEvent({ messages: client.messages }));
      return { outcome: "aborted" };
    }
    return end ?? this.#failed(new Error("The connection ended before the run."));
  }

  /** Carry out the calls that a run left to the page. Returns undefined if another run must send their results. */
  async #answer(pendingIds: readonly string[]): Promise<AgentRunResult | undefined> {
    const { client, runner } = this.#parts;
    const open = openCalls(client.messages).filter((call) => pendingIds.includes(call.id));
    if (open.length === 0) return { outcome: "success" };
    const pending = open.flatMap((call) => this.#whyPending(call) ?? []);
    const work = open.flatMap((call) => {
      const tool = this.#tools.get(call.name);
      const isOurs = tool !== undefined && !pending.some(({ toolCallId }) => toolCallId === call.id);
      return isOurs ? [runner.carryOut(call, tool, this.#abort.signal)] : [];
    });
    for (const call of pending) this.#parts.dispatch(new AgUiToolCallPendingEvent({ call }));
    this.#addMessages(await Promise.all(work));
    if (this.isAborted) return { outcome: "aborted" };
    return pending.length > 0 ? { outcome: "pending", pendingToolCalls: pending } : undefined;
  }

  /** Return why the page does not execute a call automatically; undefined if it does. */
  #whyPending(call: ThreadCall): PendingToolCall | undefined {
    const tool = this.#tools.get(call.name);
    const isSafe =
      tool?.metadata?.idempotent || this.#parts.streamedCalls.has(call.id) || this.#parts.runner.has(call.id);
    if (tool !== undefined && isSafe) return undefined;
    const reason = tool === undefined ? "unknown_tool" : "interrupted";
    return { toolCallId: call.id, toolCallName: call.name, args: argsOf(call), reason };
  }

  /** Make the callbacks that only turn events of the protocol into events of the element. */
  #forwarding(started: Set<string>): AgentSubscriber {
    const { dispatch, streamedCalls, runner } = this.#parts;
    const names = new Map<string, string>();
    const texts = new Map<string, string>();
    return {
      onRunStartedEvent: ({ event: { threadId, runId } }) => dispatch(new AgUiRunStartedEvent({ threadId, runId })),
      onToolCallStartEvent: ({ event: { toolCallId, toolCallName, parentMessageId } }) => {
        started.add(toolCallId);
        streamedCalls.add(toolCallId);
        names.set(toolCallId, toolCallName);
        dispatch(new AgUiToolCallStartEvent({ toolCallId, toolCallName, parentMessageId }));
      },
      onToolCallArgsEvent: ({ event: { toolCallId, delta }, toolCallName }) => {
        const argsText = (texts.get(toolCallId) ?? "") + delta;
        texts.set(toolCallId, argsText);
        dispatch(new AgUiToolCallArgsEvent({ toolCallId, toolCallName, delta, argsText }));
      },
      onToolCallResultEvent: ({ event: { toolCallId, content }, messages }) => {
        if (runner.has(toolCallId)) return; // the agent repeats a result of this page
        const call = openCalls(messages).find(({ id }) => id === toolCallId);
        const toolCallName = names.get(toolCallId) ?? call?.name ?? "";
        const result = typeof content === "string" ? content : JSON.stringify(content);
        dispatch(new AgUiToolCallEndEvent({ toolCallId, toolCallName, result, execution: undefined }));
      },
      onMessagesChanged: ({ messages }) => dispatch(new AgUiMessagesChangedEvent({ messages })),
      onStateChanged: ({ state }) => dispatch(new AgUiStateChangedEvent({ state })),
    };
  }

  #addMessages(messages: Message[]): void {
    const { client, dispatch } = this.#parts;
    client.addMessages(messages);
    dispatch(new AgUiMessagesChangedEvent({ messages: client.messages }));
  }

  #failed(error: unknown): RoundEnd {
    return this.#error({
      message: error instanceof Error ? error.message : String(error),
      code: undefined,
      cause: error,
    });
  }

  #error(error: AgUiRunErrorDetail): { outcome: "error"; error: AgUiRunErrorDetail } {
    this.#parts.dispatch(new AgUiRunErrorEvent(error));
    return { outcome: "error", error };
  }
}
