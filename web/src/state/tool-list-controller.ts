/** All tools of the server and of the page. It owns the requests of the catalogue's list. */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import { ApiClient, type Query } from "../api/api-client.ts";
import { explain } from "../api/problem.ts";
import type { ToolEntry, ToolPage } from "../api/tool-wire.ts";
import { type BrowserToolInfo, browserEntry, loadBrowserTools } from "./browser-tools.ts";
import { type CatalogueTool, catalogueTool } from "./catalogue.ts";

const PAGES = 20; // pages of up to 1,000 tools

export class ToolListController implements ReactiveController {
  tools: readonly CatalogueTool[] = [];
  isLoading = true;
  /** Why the tools could not be loaded. */
  error = "";
  api = new ApiClient();
  readonly #host: ReactiveControllerHost;
  readonly #browserTools: () => Promise<readonly BrowserToolInfo[]>;
  #generation = 0;

  constructor(host: ReactiveControllerHost, browserTools = loadBrowserTools) {
    this.#host = host;
    this.#browserTools = browserTools;
    host.addController(this);
  }

  hostConnected(): void {
    void this.refresh();
  }

  hostDisconnected(): void {
    this.#generation++;
  }

  async refresh(): Promise<void> {
    const mine = ++this.#generation;
    this.isLoading = true;
    this.#host.requestUpdate();
    const own = this.#browserTools().catch(() => []); // the server's tools are listed without them
    try {
      const entries = await this.#load();
      const browser = (await own).map((tool) => catalogueTool(browserEntry(tool), true));
      if (mine !== this.#generation) return;
      this.tools = [...entries.map((entry) => catalogueTool(entry)), ...browser];
      this.error = "";
    } catch (error) {
      if (mine !== this.#generation) return;
      this.error = explain(error);
    }
    this.isLoading = false;
    this.#host.requestUpdate();
  }

  async #load(): Promise<ToolEntry[]> {
    const entries: ToolEntry[] = [];
    let after: string | null = "";
    for (let page = 0; page < PAGES && after !== null; page++) {
      const query: Query = after === "" ? {} : { after };
      const found: ToolPage = await this.api.get<ToolPage>("/api/tools", query);
      entries.push(...found.tools);
      after = found.next;
    }
    return entries;
  }
}
