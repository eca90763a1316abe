/**
 * Executes the calls of the page's tools in this tab, each in one tab only, and answers their requests.
 *
 * A tab holds a lock while it executes a call, so that another tab takes over when it is closed. A page that is left
 * gives its locks back itself, since the browser may keep it for the Back button. The journal tells what
 * was done before: an outcome is sent again, a call that never began is executed, and one whose end is unknown is
 * executed again if its tool is idempotent; otherwise the person decides.
 */
import { Problem } from "../api/problem.ts";
import type { Failure } from "../api/wire.ts";
import { type GestureKind, gestures } from "../page-tools/gestures.ts";
import type { ToolExecutionManager } from "../tools/tool-execution-manager.ts";
import type { ToolDefinition, ToolExecution } from "../tools/types.ts";
import type { Call, OpenRequest } from "./conversation.ts";
import { FRONT_END_TOOL, type PageRun, type PageRunChoice, type PageRunState } from "./page-run.ts";
import { type PageOutcome, PageToolJournal } from "./page-tool-journal.ts";

const MAX_DELAY = 15_000; // milliseconds between two attempts to send an outcome
const MAX_RUNS = 200; // runs that are remembered for their cards
const IDLE: ReadonlySet<PageRunState> = new Set(["starting", "elsewhere", "asking", "missing", "sent"]);
const RETRIED = new Set([401, 408, 425, 429]);

/** The model must not assume that the call did nothing. */
const GIVEN_UP: Failure = {
  category: "interrupted",
  message:
    "The page was reloaded or closed while the tool ran, and the user decided not to run it again. It is not known " +
    "whether it took effect.",
};

/** What a controller needs of the page. */
export interface PageToolPort {
  readonly manager: ToolExecutionManager;
  find(name: string): ToolDefinition | undefined;
  /** Send the outcome of a call. A repeated one has the same key. Raises `Problem`. */
  send(sessionId: string, request: OpenRequest, outcome: PageOutcome, key: string): Promise<unknown>;
  /** Milliseconds to leave a call to a tab that is better placed, such as the one in front of the person. */
  patience(): number;
  onChange(): void;
  /** Missing in pages without HTTPS. */
  readonly locks: Pick<LockManager, "request"> | undefined;
}

/** A call that this tab watches. */
interface Job {
  readonly sessionId: string;
  readonly request: OpenRequest;
  readonly executionId: string;
  /** Aborted when the request is closed, or the page leaves it. */
  readonly end: AbortController;
}

export class PageToolController {
  /** The runs of this page by execution. */
  runs: ReadonlyMap<string, PageRun> = new Map();
  readonly #port: PageToolPort;
  readonly #journal: PageToolJournal;
  readonly #jobs = new Map<string, Job>();
  readonly #listening = new AbortController();
  #hurry = new AbortController();
  #isLeft = false;

  constructor(
    port: PageToolPort,
    journal = new PageToolJournal(),
    page: Pick<EventTarget, "addEventListener"> | undefined = globalThis.window,
  ) {
    this.#port = port;
    this.#journal = journal;
    const { signal } = this.#listening;
    page?.addEventListener("pagehide", () => this.#leave(), { signal });
    page?.addEventListener("pageshow", () => this.#return(), { signal });
    const { manager } = port;
    manager.addEventListener("tool-execution-executing", ({ detail }) => this.#attempt(detail.execution), { signal });
    manager.addEventListener("tool-execution-retrying", ({ detail }) => this.#retry(detail.execution), { signal });
    gestures.addEventListener("change", () => this.#showGestures(), { signal });
  }

  /** Execute the open calls of a conversation, and end those that were closed. */
  update(sessionId: string, calls: Iterable<Call>): void {
    if (this.#isLeft) return;
    const open = new Set<string>();
    for (const { request, executionId, tool } of calls) {
      if (request?.purpose !== FRONT_END_TOOL || executionId === null) continue;
      open.add(request.id);
      const job = this.#jobs.get(request.id);
      if (job === undefined && request.isCut) continue; // its arguments are being loaded
      if (job === undefined) this.#begin(sessionId, request, executionId, tool);
      else if (this.#run(job)?.state === "missing" && this.#port.find(tool) !== undefined) void this.#inTurn(job);
    }
    for (const [id, job] of this.#jobs) {
      const isLeft = job.sessionId !== sessionId && !this.#isBusy(job);
      if (isLeft || (job.sessionId === sessionId && !open.has(id))) this.#forget(id, job);
    }
  }

  /** Carry out what the person has decided on the card of a call. */
  choose(requestId: string, choice: PageRunChoice): void {
    const job = this.#jobs.get(requestId);
    if (job === undefined) return;
    if (choice === "allow" || choice === "refuse") gestures.decide(requestId, choice === "allow");
    else if (this.#run(job)?.state === "asking") void this.#inTurn(job, choice);
  }

  /** Send outcomes now that wait for the server. */
  hurry(): void {
    this.#hurry.abort();
    this.#hurry = new AbortController();
  }

  /** Leave all calls to other tabs. */
  stop(): void {
    this.#listening.abort();
    this.#forgetAll();
  }

  #leave(): void {
    this.#isLeft = true;
    this.#forgetAll();
  }

  #return(): void {
    this.#isLeft = false;
    this.#port.onChange();
  }

  #forgetAll(): void {
    for (const [id, job] of this.#jobs) this.#forget(id, job);
  }

  #begin(sessionId: string, request: OpenRequest, executionId: string, tool: string): void {
    const job = { sessionId, request, executionId, end: new AbortController() };
    this.#jobs.set(request.id, job);
    const [attempt, maximum] = [0, 0];
    this.#set({ requestId: request.id, tool, state: "starting", attempt, maximum, errors: [] }, executionId);
    void this.#waitThenRun(job);
  }

  #forget(id: string, { end }: Job): void {
    this.#jobs.delete(id);
    end.abort();
  }

  async #waitThenRun(job: Job): Promise<void> {
    await pause(this.#port.patience(), job.end.signal);
    await this.#inTurn(job);
  }

  /** Act when no other tab does. */
  async #inTurn(job: Job, choice?: PageRunChoice): Promise<void> {
    const { locks } = this.#port;
    const { signal } = job.end;
    if (signal.aborted) return;
    if (locks === undefined) return this.#act(job, choice);
    const name = `callboard.page-tool.${job.request.id}`;
    try {
      const isFree = await locks.request(name, { ifAvailable: true }, async (lock) => {
        if (lock !== null) await this.#act(job, choice);
        return lock !== null;
      });
      if (isFree || signal.aborted) return;
      this.#show(job, "elsewhere");
      await locks.request(name, { signal }, () => this.#act(job, choice));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #act(job: Job, choice?: PageRunChoice): Promise<void> {
    if (job.end.signal.aborted) return;
    const { id } = job.request;
    const tool = this.#port.find(this.#run(job)?.tool ?? "");
    const { hasBegun, outcome } = this.#journal.read(id);
    if (outcome !== null) return this.#send(job, outcome);
    if (choice === "give-up") return this.#end(job, { error: GIVEN_UP });
    if (tool === undefined) return this.#show(job, "missing");
    const isSafe = tool.metadata?.idempotent ?? false;
    if (!isSafe && choice !== "run" && (hasBegun || !this.#canRemember())) return this.#show(job, "asking");
    await this.#execute(job, tool);
  }

  /** Whether a call that begins is remembered, and no other tab can begin it at the same time. */
  #canRemember(): boolean {
    return this.#port.locks !== undefined && this.#journal.isLasting;
  }

  async #execute(job: Job, tool: ToolDefinition): Promise<void> {
    const { request, end } = job;
    this.#show(job, "running");
    const given: unknown = JSON.parse(JSON.stringify(request.payload ?? {})); // tools of a page know numbers only
    const result = await this.#port.manager.execute(tool, request.id, given, end.signal);
    if (end.signal.aborted) return; // the request was closed, or the person left the page
    if (result.success) return this.#end(job, { answer: parsed(result.result) });
    const { category, message } = result.error;
    await this.#end(job, { error: { category, message } });
  }

  #end(job: Job, outcome: PageOutcome): Promise<void> {
    this.#journal.end(job.request.id, outcome);
    return this.#send(job, outcome);
  }

  /** Send an outcome until the server has it, or the request is closed. */
  async #send(job: Job, given: PageOutcome): Promise<void> {
    const { sessionId, request, end } = job;
    let outcome = given;
    for (let failures = 0; !end.signal.aborted; failures++) {
      this.#show(job, "sending");
      try {
        await this.#port.send(sessionId, request, outcome, keyOf(request.id, outcome));
        return this.#show(job, "sent");
      } catch (error) {
        const status = error instanceof Problem ? error.status : 0;
        if (error instanceof Problem && status < 500 && !RETRIED.has(status)) {
          if (status === 404 || status === 409 || "error" in outcome) return this.#show(job, "sent"); // it is closed
          outcome = { error: { category: "execution", message: `The server refused the result: ${error.message}` } };
          continue;
        }
        await pause(Math.min(MAX_DELAY, 500 * 2 ** failures), end.signal, this.#hurry.signal);
      }
    }
  }

  // What the cards show

  #attempt(execution: ToolExecution): void {
    const job = this.#jobs.get(execution.toolCallId);
    if (job === undefined) return;
    this.#journal.begin(job.request.id);
    this.#record(job, execution, "running");
  }

  #retry(execution: ToolExecution): void {
    const job = this.#jobs.get(execution.toolCallId);
    if (job !== undefined) this.#record(job, execution, "retrying");
  }

  #record(job: Job, { retry }: ToolExecution, state: PageRunState): void {
    const errors = retry.previousErrors.map(({ category, message }) => ({ category, message }));
    this.#show(job, state, { attempt: retry.attemptNumber, maximum: retry.maxAttempts, errors });
  }

  #showGestures(): void {
    for (const [id, job] of this.#jobs) {
      const wanted: GestureKind | undefined = gestures.waitingFor(id);
      const state = this.#run(job)?.state;
      if (wanted !== undefined) this.#show(job, wanted);
      else if (state === "copy" || state === "notify") this.#show(job, "running");
    }
  }

  #show(job: Job, state: PageRunState, changes: Partial<PageRun> = {}): void {
    const run = this.#run(job);
    if (run !== undefined) this.#set({ ...run, ...changes, state }, job.executionId);
  }

  #run({ executionId }: Job): PageRun | undefined {
    return this.runs.get(executionId);
  }

  /** Whether the call must continue although the person looks at another conversation. */
  #isBusy(job: Job): boolean {
    return !IDLE.has(this.#run(job)?.state ?? "starting");
  }

  #set(run: PageRun, executionId: string): void {
    const kept = [...this.runs].filter(([id]) => id !== executionId).slice(-MAX_RUNS);
    this.runs = new Map([...kept, [executionId, run]]);
    this.#port.onChange();
  }
}

/** The idempotency key of an outcome. Two different outcomes of a call may be sent, of which the server takes one. */
function keyOf(requestId: string, outcome: PageOutcome): string {
  return `page-tool-${"error" in outcome ? "error" : "answer"}-${requestId}`;
}

/** A result as JSON if it is, else as a text. */
function parsed(result: string): unknown {
  if (!/^\s*[[{"\d\-tfn]/.test(result)) return result;
  try {
    return JSON.parse(result) as unknown;
  } catch {
    return result;
  }
}

/** Wait, but no longer than until one of the signals aborts. */
function pause(delay: number, ...signals: AbortSignal[]): Promise<void> {
  if (delay <= 0 || signals.some(({ aborted }) => aborted)) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(done, delay);
    for (const signal of signals) signal.addEventListener("abort", done, { once: true });
  });
}
