/** The catalogue of tools: those of the server and those of the page, searched and filtered. Pure functions. */
import type { ToolEntry } from "../api/tool-wire.ts";

/** A tool in the catalogue. */
export interface CatalogueTool {
  /** Its name in the address of the page. That of a page's tool has a prefix, because a server's may have its name. */
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly namespace: string;
  readonly group: string;
  readonly tags: readonly string[];
  readonly mode: string;
  /** The name of its gate. Empty without one. */
  readonly gate: string;
  readonly isBrowser: boolean;
  readonly entry: ToolEntry;
  /** The text that is searched, in lower case. */
  readonly searched: string;
}

export interface Filters {
  readonly text: string;
  readonly namespace: string;
  readonly group: string;
  readonly tag: string;
  readonly mode: string;
  readonly gate: string;
}

export const NO_FILTERS: Filters = { text: "", namespace: "", group: "", tag: "", mode: "", gate: "" };

/** The properties that tools are filtered by, in the order of their controls. */
export const FACETS = ["namespace", "group", "tag", "mode", "gate"] as const;

export type Facet = (typeof FACETS)[number];

/** The values of a property, each with the number of tools that have it. */
export type FacetValues = Readonly<Record<Facet, readonly (readonly [value: string, count: number])[]>>;

/** The prefix of the ids of tools that run in the page, and their namespace and mode. */
export const BROWSER = "browser";

const BUILT_IN = "callboard";
const MAX_SEARCHED = 2_000; // characters of a description that are searched

/** A tool of the server, or of the page. */
export function catalogueTool(entry: ToolEntry, isBrowser = false): CatalogueTool {
  const { name, description = "", group, tags = [] } = entry;
  const namespace = isBrowser ? BROWSER : (entry.namespace ?? "default");
  const title = entry.title ?? "";
  const parts = [name, title, namespace, group ?? "", ...tags.slice(0, 50), description.slice(0, MAX_SEARCHED)];
  return {
    id: isBrowser ? `${BROWSER}:${name}` : name,
    name,
    title,
    description,
    namespace,
    group: group ?? "",
    tags,
    mode: isBrowser ? BROWSER : (entry.mode ?? "inline"),
    gate: entry.gate?.name ?? "",
    isBrowser,
    entry,
    searched: parts.join("\n").toLowerCase(),
  };
}

/**
 * The tools that match all filters. They are in the order of namespace and name; those that a text selects are in the
 * order of relevance: names that start with it, names that contain it, and the others.
 */
export function filterTools(tools: readonly CatalogueTool[], filters: Filters): CatalogueTool[] {
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = tools.filter(
    (tool) =>
      FACETS.every((facet) => hasFacet(tool, facet, filters[facet])) &&
      words.every((word) => tool.searched.includes(word)),
  );
  const [first = ""] = words;
  const rank = ({ name }: CatalogueTool) => {
    const at = first === "" ? 0 : name.toLowerCase().indexOf(first);
    return at === 0 ? 0 : at > 0 ? 1 : 2;
  };
  const ranks = new Map(found.map((tool) => [tool, rank(tool)]));
  return found.sort((one, other) => {
    const byRank = (ranks.get(one) ?? 0) - (ranks.get(other) ?? 0);
    return byRank || (first === "" ? compareNamespaces(one, other) : 0) || compare(one.name, other.name);
  });
}

/** The values to filter by. A property without any value, or with one that all tools have, offers no choice. */
export function facetsOf(tools: readonly CatalogueTool[]): FacetValues {
  const values = (facet: Facet) => {
    const counts = new Map<string, number>();
    for (const tool of tools) {
      for (const value of valuesOf(tool, facet)) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const sorted = [...counts].sort(([one], [other]) => compare(one, other));
    return sorted.length === 1 && sorted[0]?.[1] === tools.length ? [] : sorted;
  };
  return Object.fromEntries(FACETS.map((facet) => [facet, values(facet)])) as unknown as FacetValues;
}

/** Whether any filter is set. */
export function isFiltered(filters: Filters): boolean {
  return Object.values(filters).some((value) => value !== "");
}

/** Tools in runs of the same namespace. */
export function byNamespace(tools: readonly CatalogueTool[]): (readonly [namespace: string, CatalogueTool[]])[] {
  const runs: [string, CatalogueTool[]][] = [];
  for (const tool of tools) {
    const last = runs.at(-1);
    if (last?.[0] === tool.namespace) last[1].push(tool);
    else runs.push([tool.namespace, [tool]]);
  }
  return runs;
}

function hasFacet(tool: CatalogueTool, facet: Facet, value: string): boolean {
  return value === "" || valuesOf(tool, facet).includes(value);
}

function valuesOf(tool: CatalogueTool, facet: Facet): readonly string[] {
  const value = facet === "tag" ? tool.tags : [tool[facet]];
  return value.filter((each) => each !== "");
}

/** The namespace of the built-in tools is the last one. */
function compareNamespaces(one: CatalogueTool, other: CatalogueTool): number {
  const isBuiltIn = ({ namespace }: CatalogueTool) => Number(namespace === BUILT_IN);
  return isBuiltIn(one) - isBuiltIn(other) || compare(one.namespace, other.namespace);
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
