/**
 * The tools of the page, for one conversation: loads the tool system when the page is idle or needs it, gives their
 * definitions to messages, and lets calls be executed.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import type { PageToolChoice } from "../page-tools/index.ts";
import { waitingCalls } from "./conversation.ts";
import { FRONT_END_TOOL, type PageRun, type PageRunChoice } from "./page-run.ts";
import type { PageToolController } from "./page-tool-controller.ts";
import type { SessionController } from "./session-controller.ts";

const LOADED_WITHIN = 3_000; // milliseconds for which a message waits for the tool system
const IDLE_WITHIN = 2_000; // milliseconds after which it is loaded although the page is busy
const SHARED = Symbol.for("callboard.tool-registry");

type PageToolModule = typeof import("../page-tools/page.ts");
const NO_RUNS: ReadonlyMap<string, PageRun> = new Map();

export class PageToolLoader implements ReactiveController {
  /** The tools that the page has. */
  choice: PageToolChoice = {};
  readonly #host: ReactiveControllerHost & { readonly isConnected: boolean };
  readonly #session: SessionController;
  readonly #load: () => Promise<PageToolModule>;
  #loading: Promise<PageToolModule | undefined> | undefined;
  #controller: PageToolController | null = null;
  #module: PageToolModule | null = null;
  #watched: PageToolChoice["registry"] = null;
  #hasSent = false;
  #wasConnected = false;

  constructor(
    host: ReactiveControllerHost & { readonly isConnected: boolean },
    session: SessionController,
    load: () => Promise<PageToolModule> = () => import("../page-tools/page.ts"),
  ) {
    this.#host = host;
    this.#session = session;
    this.#load = load;
    session.pageTools = () => {
      this.#hasSent = true;
      return this.#definitions();
    };
    host.addController(this);
  }

  /** What this page does with calls of its tools, by execution. */
  get runs(): ReadonlyMap<string, PageRun> {
    return this.#controller?.runs ?? NO_RUNS;
  }

  choose(requestId: string, choice: PageRunChoice): void {
    this.#controller?.choose(requestId, choice);
  }

  hostUpdated(): void {
    const { conversation, sessionId, isReady, connection } = this.#session;
    if (!isReady) return;
    this.#watchRegistry();
    const isConnected = connection.state === "connected";
    if (isConnected && !this.#wasConnected) this.#controller?.hurry();
    this.#wasConnected = isConnected;
    const isNeeded = waitingCalls(conversation).some(({ request }) => request?.purpose === FRONT_END_TOOL);
    if (isNeeded) void this.#loaded();
    else if (this.#loading === undefined && this.#hasTools) whenIdle(() => void this.#loaded());
    this.#controller?.update(sessionId, waitingCalls(conversation));
  }

  hostDisconnected(): void {
    queueMicrotask(() => {
      if (this.#host.isConnected) return; // it was moved
      this.#controller?.stop();
      this.#controller = null;
      this.#loading = undefined;
    });
  }

  /** Look at calls of missing tools again when a tool is registered. */
  #watchRegistry(): void {
    const registry = this.choice.registry ?? this.#module?.globalToolRegistry ?? null;
    if (registry === this.#watched) return;
    this.#watched?.removeEventListener?.("tool-registry-change", this.#onRegistry);
    this.#watched = registry;
    registry?.addEventListener?.("tool-registry-change", this.#onRegistry);
  }

  readonly #onRegistry = () => this.#host.requestUpdate();

  /** Whether the page may have tools: without any, nothing is loaded. */
  get #hasTools(): boolean {
    return this.choice.hasShipped !== false || Boolean(this.choice.registry) || SHARED in globalThis;
  }

  async #definitions(): Promise<readonly unknown[] | undefined> {
    const module = this.#hasTools ? await within(LOADED_WITHIN, this.#loaded()) : undefined;
    if (module === undefined) return undefined;
    const { tools } = this.#session;
    const isTaken = (name: string) => (tools.get(name)?.namespace ?? "front_end") !== "front_end";
    return module.pageToolDefinitions(this.choice).filter(({ name }) => !isTaken(name));
  }

  #loaded(): Promise<PageToolModule | undefined> {
    this.#loading ??= this.#load().then(
      (module) => {
        this.#module = module;
        this.#controller ??= this.#newController(module);
        this.#host.requestUpdate();
        return module;
      },
      () => {
        this.#loading = undefined; // it can be tried again
        return undefined;
      },
    );
    return this.#loading;
  }

  #newController(module: PageToolModule): PageToolController {
    return new module.PageToolController({
      manager: module.pageToolManager,
      find: (name) => module.findPageTool(name, this.choice),
      send: async (sessionId, { id, argumentsHash }, outcome, key) => {
        const tools = await this.#definitions();
        const hash = argumentsHash === null ? {} : { arguments_hash: argumentsHash };
        const body = { session_id: sessionId, ...outcome, ...hash, tools: tools ?? null };
        return this.#session.api.post(`/api/requests/${encodeURIComponent(id)}/answer`, body, { key, timeout: 20_000 });
      },
      patience: () => (this.#hasSent ? 0 : document.hasFocus() ? 150 : document.hidden ? 1_000 : 300),
      onChange: () => this.#host.requestUpdate(),
      locks: (navigator as { readonly locks?: LockManager }).locks,
    });
  }
}

function whenIdle(action: () => void): void {
  if ("requestIdleCallback" in globalThis) requestIdleCallback(action, { timeout: IDLE_WITHIN });
  else setTimeout(action, 500);
}

/** The result of some work, or undefined if it takes longer. */
function within<T>(time: number, work: Promise<T>): Promise<T | undefined> {
  return Promise.race([work, new Promise<undefined>((resolve) => setTimeout(resolve, time, undefined))]);
}
