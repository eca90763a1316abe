/** The element `<ag-ui-agent>`: an agent that speaks AG-UI, and the tools that this page lends to it. It shows nothing. */
import { buildResumeArray, HttpAgent, type Interrupt, type Message, type RunAgentParameters } from "@ag-ui/client";
import { AgUiAgentReadyEvent } from "../events/ag-ui-agent-ready.ts";
import { AgUiMessagesChangedEvent } from "../events/ag-ui-messages-changed.ts";
import type { AgUiToolRegisterEvent } from "../events/ag-ui-tool-register.ts";
import { AgentRun, type AgentRunResult } from "./agent-run.ts";
import type { PendingToolCall } from "./pending-tool-call.ts";
import { newId } from "./new-id.ts";
import { openCalls, resultMessage } from "./thread-calls.ts";
import { ToolCallRunner } from "./tool-call-runner.ts";
import { ToolExecutionManager } from "./tool-execution-manager.ts";
import { globalToolRegistry, type ToolRegistry } from "./tool-registry.ts";
import type { ToolDefinition, ToolExecutionResult } from "./types.ts";

/** Values that go to the agent with each run. */
export type AgentRunOptions = Pick<RunAgentParameters, "context" | "forwardedProps">;

/** Answers to interrupts, by their ids. */
export type InterruptResponses = Parameters<typeof buildResumeArray>[1];

/** Outside a browser, as in tests and on a server that renders pages, the class can be imported and used as a target. */
const ElementBase: typeof HTMLElement =
  globalThis.HTMLElement ?? (class extends EventTarget {} as unknown as typeof HTMLElement);

/**
 * An AG-UI agent. All its events bubble and are composed.
 *
 * A run continues by itself until there is nothing left for the page to do: the page's tools are carried out, and their
 * results are sent with another run. Only one run at a time is possible.
 *
 * @attr url - Address of the agent, such as `/ag-ui`
 * @attr thread-id - The conversation. Default: a new one
 * @fires ag-ui-agent-ready - The element was connected to the document
 * @fires ag-ui-run-started - A run of the protocol has begun
 * @fires ag-ui-run-finished - A run of the protocol has ended, with its outcome
 * @fires ag-ui-run-error - A run failed
 * @fires ag-ui-interrupt - People must answer, with `resume`
 * @fires ag-ui-messages-changed - The messages of the thread have changed
 * @fires ag-ui-state-changed - The shared state has changed
 * @fires ag-ui-tool-call-start - The model begins to call a tool
 * @fires ag-ui-tool-call-args - A piece of a call's arguments has arrived
 * @fires ag-ui-tool-call-end - A call has its result, with the execution of a tool of this page
 * @fires ag-ui-tool-call-error - A call of a tool of this page failed, with the error and the execution
 * @fires ag-ui-tool-call-pending - A call that the page does not execute automatically is waiting
 * @fires ag-ui-tool-status-changed - The execution of a tool of this page has a new status
 * @fires ag-ui-tool-retrying - An attempt failed, and another follows
 */
export class AgUiAgent extends ElementBase {
  static readonly observedAttributes: readonly string[] = ["url", "thread-id"];

  /** Address of the agent. */
  url = "";
  /** Headers of each request, such as `Authorization`. */
  headers: Readonly<Record<string, string>> = {};
  /** Replaces `fetch`, for example to send cookies to another host. */
  fetch: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** The tools that the page lends to the agent. The tools of a run are those of its beginning. */
  registry: ToolRegistry = globalToolRegistry;
  /** Carries out the calls of the page's tools. */
  readonly manager: ToolExecutionManager;
  readonly #runner: ToolCallRunner;
  #client = new HttpAgent({ url: "" });
  #streamedCalls = new Set<string>();
  #pendingToolCalls: readonly PendingToolCall[] = [];
  #run: AgentRun | undefined;
  #connection: AbortController | undefined;

  constructor(manager = new ToolExecutionManager()) {
    super();
    this.manager = manager;
    this.#runner = new ToolCallRunner(manager, (event) => this.dispatchEvent(event));
  }

  /** The conversation. Setting it to another begins with no messages, and aborts a run. */
  get threadId(): string {
    return this.#client.threadId;
  }

  set threadId(threadId: string) {
    if (threadId === this.#client.threadId) return;
    this.abort();
    this.#run = undefined; // what is left of it belongs to the other thread
    this.#client = new HttpAgent({ url: this.url, threadId });
    this.#streamedCalls = new Set();
    this.#pendingToolCalls = [];
  }

  /** The messages of the thread. Set them to continue a conversation that you have stored. */
  get messages(): readonly Message[] {
    return this.#client.messages;
  }

  set messages(messages: readonly Message[]) {
    this.#client.setMessages([...messages]);
  }

  /** The state that the page shares with the agent: any JSON value. */
  get state(): unknown {
    return this.#client.state;
  }

  set state(state: unknown) {
    this.#client.setState(state);
  }

  /** The interrupts of the newest run that have not been answered. */
  get interrupts(): readonly Interrupt[] {
    return this.#client.pendingInterrupts;
  }

  /** The calls that the newest run left open, and that the page does not carry out by itself: see `answerToolCall`. */
  get pendingToolCalls(): readonly PendingToolCall[] {
    return this.#pendingToolCalls;
  }

  get isRunning(): boolean {
    return this.#run !== undefined;
  }

  /** Lend a tool to the agent, from its next run on. Throws `RegistrationError`. */
  registerTool<TArgs>(tool: ToolDefinition<TArgs>): void {
    this.registry.register(tool);
  }

  /**
   * Run the agent, with a message of the user or, without one, to see what is new and to carry out what waits.
   *
   * Rejects only if it cannot begin: another run is under way, or interrupts wait for answers. How the run itself ends
   * is in the result and in the events.
   */
  async run(message?: string, options: AgentRunOptions = {}): Promise<AgentRunResult> {
    if (this.#client.pendingInterrupts.length > 0) throw new Error("Interrupts wait for answers: call resume.");
    this.#assertIdle();
    if (message !== undefined) this.#addMessage({ id: newId("message_"), role: "user", content: message });
    return this.#start(options);
  }

  /** Answer all open interrupts, and continue. Rejects if there is no answer to one of them, or another run is under way. */
  async resume(responses: InterruptResponses, options: AgentRunOptions = {}): Promise<AgentRunResult> {
    this.#assertIdle();
    return this.#start({ ...options, resume: buildResumeArray(this.#client.pendingInterrupts, responses) });
  }

  /**
   * Give the result of a call that waits (`pendingToolCalls`), or have its tool carried out after all. The run continues
   * when no other call waits.
   *
   * Rejects if no such call waits, no tool has its name, or another run is under way.
   */
  async answerToolCall(
    toolCallId: string,
    result?: ToolExecutionResult,
    options: AgentRunOptions = {},
  ): Promise<AgentRunResult> {
    this.#assertIdle();
    const call = openCalls(this.messages).find(({ id }) => id === toolCallId);
    if (call === undefined) throw new Error(`No call ${toolCallId} waits.`);
    const tool = this.registry.get(call.name);
    if (result === undefined && tool === undefined) throw new Error(`There is no tool ${call.name}.`);
    const rest = this.#pendingToolCalls.filter((each) => each.toolCallId !== toolCallId);
    return this.#during(async (run) => {
      if (result !== undefined) this.#addMessage(resultMessage(toolCallId, result));
      else if (tool !== undefined) await run.execute(call, tool);
      this.#pendingToolCalls = rest;
      if (run.isAborted) return { outcome: "aborted" };
      return rest.length > 0 ? { outcome: "pending", pendingToolCalls: rest } : run.carryOut(options);
    });
  }

  /** Abort the run, and cancel the calls that it made here. The agent is told with the next run. */
  abort(): void {
    this.#run?.abort();
  }

  attributeChangedCallback(name: string, _before: string | null, value: string | null): void {
    if (name === "url") this.url = value ?? "";
    else if (value !== null) this.threadId = value;
  }

  connectedCallback(): void {
    this.#connection ??= new AbortController();
    const { signal } = this.#connection;
    this.ownerDocument.addEventListener("ag-ui-tool-register", (event) => this.#onRegister(event), { signal });
    this.ownerDocument.defaultView?.addEventListener("pagehide", () => this.abort(), { signal });
    this.dispatchEvent(new AgUiAgentReadyEvent());
  }

  disconnectedCallback(): void {
    this.#connection?.abort();
    this.#connection = undefined;
    queueMicrotask(() => {
      if (!this.isConnected) this.abort(); // it was removed, not moved
    });
  }

  #onRegister(event: AgUiToolRegisterEvent): void {
    try {
      this.registry.register(event.detail.tool);
      event.preventDefault();
    } catch (error) {
      reportError(error);
    }
  }

  #assertIdle(): void {
    if (this.#run !== undefined) throw new Error("Another run is under way.");
  }

  #addMessage(message: Message): void {
    this.#client.addMessage(message);
    this.dispatchEvent(new AgUiMessagesChangedEvent({ messages: this.messages }));
  }

  #start(parameters: RunAgentParameters): Promise<AgentRunResult> {
    return this.#during((run) => run.carryOut(parameters));
  }

  /** Do something as the one run of this element. */
  async #during(work: (run: AgentRun) => Promise<AgentRunResult>): Promise<AgentRunResult> {
    this.#client.url = this.url;
    this.#client.headers = { ...this.headers };
    const { fetch } = this;
    if (fetch !== undefined) this.#client.fetch = (url, init) => fetch(url, init);
    const run = new AgentRun({
      client: this.#client,
      registry: this.registry,
      runner: this.#runner,
      dispatch: (event) => void (this.#run === run && this.dispatchEvent(event)),
      streamedCalls: this.#streamedCalls,
    });
    this.#run = run;
    try {
      const result = await work(run);
      if (this.#run === run) this.#pendingToolCalls = result.outcome === "pending" ? result.pendingToolCalls : [];
      return result;
    } finally {
      if (this.#run === run) this.#run = undefined;
    }
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "ag-ui-agent": AgUiAgent;
  }
}
