/** Tools by name. It knows nothing of executions: a manager gets the tool itself with each call. */
import type { Tool } from "@ag-ui/client";
import { ToolRegistryChangeEvent } from "../events/tool-registry-change.ts";
import { TypedEventTarget } from "../events/typed-event-target.ts";
import { RegistrationError } from "./errors.ts";
import { parametersOf } from "./tool-schema.ts";
import type { ToolDefinition } from "./types.ts";

/** Names that every provider accepts. */
const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;

export interface ToolRegistryEventMap {
  "tool-registry-change": ToolRegistryChangeEvent;
}

/**
 * Lists are in the order of registration, and are not affected by later changes.
 *
 * @fires tool-registry-change - A tool was registered or unregistered, or all were removed
 */
export class ToolRegistry extends TypedEventTarget<ToolRegistryEventMap> {
  readonly #tools = new Map<string, { readonly tool: ToolDefinition; readonly described: Tool }>();

  /**
   * Add a tool. Adding the same tool again has no effect.
   *
   * Throws `RegistrationError` for a name that is taken or that not every provider accepts, a missing description, and
   * a schema that JSON cannot express.
   */
  register<TArgs>(definition: ToolDefinition<TArgs>): void {
    const tool = definition as ToolDefinition;
    const { name, description, schema } = tool;
    if (this.#tools.get(name)?.tool === tool) return;
    if (!NAME.test(name)) {
      throw new RegistrationError(
        `${JSON.stringify(name)} is not a name that every provider accepts: up to 64 letters, digits, _ and -.`,
      );
    }
    if (this.#tools.has(name))
      throw new RegistrationError(`A tool ${name} is already registered. Rename one of them, or unregister it first.`);
    if (!description) throw new RegistrationError(`The tool ${name} has no description, which a model needs.`);
    const described = { name, description, parameters: parametersOf(name, schema) };
    this.#tools.set(name, { tool, described });
    this.#notify("registered", name);
  }

  /** Remove a tool. Returns whether there was one. Its running executions continue. */
  unregister(name: string): boolean {
    const removed = this.#tools.delete(name);
    if (removed) this.#notify("unregistered", name);
    return removed;
  }

  /** Remove all tools. */
  clear(): void {
    if (this.#tools.size === 0) return;
    this.#tools.clear();
    this.#notify("cleared", undefined);
  }

  get(name: string): ToolDefinition | undefined {
    return this.#tools.get(name)?.tool;
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  names(): string[] {
    return [...this.#tools.keys()];
  }

  all(): ToolDefinition[] {
    return [...this.#tools.values()].map(({ tool }) => tool);
  }

  getByCategory(category: string): ToolDefinition[] {
    return this.all().filter((tool) => tool.metadata?.category === category);
  }

  getByTag(tag: string): ToolDefinition[] {
    return this.all().filter((tool) => tool.metadata?.tags?.includes(tag));
  }

  /** Describe all tools in AG-UI's form, with JSON schemas in the default form of Callboard. */
  toAgUiTools(): Tool[] {
    return [...this.#tools.values()].map(({ described }) => structuredClone(described));
  }

  #notify(action: "registered" | "unregistered" | "cleared", toolName: string | undefined): void {
    this.dispatchEvent(new ToolRegistryChangeEvent({ action, toolName, toolNames: this.names() }));
  }
}

const SHARED = Symbol.for("callboard.tool-registry");

/** The registry that all agents of a page use unless they are given another. Scripts that bundle it share it. */
export const globalToolRegistry: ToolRegistry = /* @__PURE__ */ sharedRegistry();

function sharedRegistry(): ToolRegistry {
  const page = globalThis as { [SHARED]?: ToolRegistry };
  return (page[SHARED] ??= new ToolRegistry());
}
