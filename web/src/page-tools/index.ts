/**
 * The tools of this page, which the model calls and the browser executes: those that ship with the page, and those of a
 * registry of the embedding page. Loaded on demand, with Zod and the tool system.
 */
import "../tools/zod-without-eval.ts"; // first, because other modules make schemas when they are loaded
import { title } from "../format.ts";
import type { BreakerStatus } from "../tools/breaker.ts";
import { ToolExecutionManager } from "../tools/tool-execution-manager.ts";
import { globalToolRegistry, ToolRegistry } from "../tools/tool-registry.ts";
import type { JsonSchema } from "../tools/tool-schema.ts";
import type { Statistics } from "../tools/tool-stats.ts";
import type { ToolDefinition } from "../tools/types.ts";
import { copyToClipboardTool } from "./copy-to-clipboard.ts";
import { downloadFileTool } from "./download-file.ts";
import { localTimeTool } from "./local-time.ts";
import { showNotificationTool } from "./show-notification.ts";
import { whereAmITool } from "./where-am-i.ts";

export { globalToolRegistry };

/** Which tools a page has. */
export interface PageToolChoice {
  /** Tools of the embedding page. Default: `globalToolRegistry`. */
  readonly registry?: (Pick<ToolRegistry, "get" | "toAgUiTools"> & Partial<EventTarget>) | null;
  /** Whether the page has the tools that ship with it. Default: true. */
  readonly hasShipped?: boolean;
}

/** A definition of a tool, as it is sent with a message. */
export interface PageToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

/** A tool of the page, for the catalogue. Times are in milliseconds. */
export interface PageToolInfo {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The JSON schema of its arguments, as the model sees it. */
  readonly schema: JsonSchema;
  readonly idempotent: boolean;
  readonly category: string | undefined;
  readonly tags: readonly string[];
  /** Whether it ships with the page. */
  readonly isShipped: boolean;
  /** Of this page since it was loaded. */
  readonly statistics: Statistics;
  readonly breaker: BreakerStatus;
}

/** The tools that ship with the page. */
export const shippedTools = /* @__PURE__ */ new ToolRegistry();
for (const tool of [whereAmITool, localTimeTool, copyToClipboardTool, downloadFileTool, showNotificationTool]) {
  shippedTools.register(tool as ToolDefinition);
}

/** Executes the calls of all conversations of this page. */
export const pageToolManager = /* @__PURE__ */ new ToolExecutionManager();

/** Find a tool of the page. One of the embedding page replaces a shipped one of the same name. */
export function findPageTool(
  name: string,
  { registry, hasShipped = true }: PageToolChoice = {},
): ToolDefinition | undefined {
  return (registry ?? globalToolRegistry).get(name) ?? (hasShipped ? shippedTools.get(name) : undefined);
}

/** The definitions of the page's tools. */
export function pageToolDefinitions({ registry, hasShipped = true }: PageToolChoice = {}): PageToolDefinition[] {
  const own = (registry ?? globalToolRegistry).toAgUiTools() as PageToolDefinition[];
  const shipped = hasShipped ? (shippedTools.toAgUiTools() as PageToolDefinition[]) : [];
  const names = new Set(own.map(({ name }) => name));
  return [...own, ...shipped.filter(({ name }) => !names.has(name))];
}

/** The tools of the page with their statistics, sorted by name. */
export function listPageTools(choice: PageToolChoice = {}): PageToolInfo[] {
  return pageToolDefinitions(choice)
    .map(({ name, description, parameters }): PageToolInfo => {
      const tool = findPageTool(name, choice);
      return {
        name,
        title: tool?.metadata?.title ?? title(name),
        description,
        schema: parameters,
        idempotent: tool?.metadata?.idempotent ?? false,
        category: tool?.metadata?.category,
        tags: tool?.metadata?.tags ?? [],
        isShipped: tool !== undefined && tool === shippedTools.get(name),
        statistics: pageToolManager.stats(name),
        breaker: pageToolManager.breaker(name),
      };
    })
    .toSorted((one, other) => one.name.localeCompare(other.name));
}
