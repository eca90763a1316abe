/** The tools that run in this page, for the catalogue. */
import type { ToolEntry } from "../api/tool-wire.ts";
import type { Schema } from "../api/wire.ts";

/** A tool of the page. */
export interface BrowserToolInfo {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** The JSON schema of its arguments. */
  readonly schema: unknown;
  readonly idempotent?: boolean;
  readonly category?: string | undefined;
  readonly tags?: readonly string[];
}

/** Load the page's tools. They and Zod are loaded on demand. */
export async function loadBrowserTools(): Promise<readonly BrowserToolInfo[]> {
  const { globalToolRegistry } = await import("../tools/tool-registry.ts");
  return globalToolRegistry.toAgUiTools().map(({ name, description, parameters }) => {
    const { category, idempotent = false, tags = [] } = globalToolRegistry.get(name)?.metadata ?? {};
    return { name, description, schema: parameters, idempotent, category, tags };
  });
}

/** A tool of the page in the form of the server's manifest. */
export function browserEntry({
  name,
  title,
  description,
  schema,
  idempotent,
  category,
  tags,
}: BrowserToolInfo): ToolEntry {
  return {
    name,
    title: title ?? null,
    description,
    input_schema: schema as Schema,
    group: category ?? null,
    tags: tags ?? [],
    idempotent: idempotent ?? false,
  };
}
