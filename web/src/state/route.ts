/** The address of what the page shows. It is in the query of the URL, so that every view can be linked to. */
export const VIEWS = ["chat", "inbox", "timeline", "tools", "operations", "api"] as const;

export type View = (typeof VIEWS)[number];

export interface Route {
  readonly view: View;
  /** The conversation. Empty for a new one, and for views of no conversation. */
  readonly session: string;
  /** An execution of the conversation to show. */
  readonly call: string;
  /** A request of the conversation to show. */
  readonly request: string;
  /** A tool of the catalogue to show. */
  readonly tool: string;
  /** An operation of the API to show. */
  readonly operation: string;
}

const PARTS = ["session", "call", "request", "tool", "operation"] as const;

/** Make a route; what is not given is empty. */
export function route(parts: Partial<Route> = {}): Route {
  return { view: "chat", session: "", call: "", request: "", tool: "", operation: "", ...parts };
}

/** Read the query of a URL. A view that is not known is the chat. */
export function parseRoute(query: string): Route {
  const given = new URLSearchParams(query);
  const parts = Object.fromEntries(PARTS.map((name) => [name, given.get(name) ?? ""]));
  return route({ ...parts, view: VIEWS.find((each) => each === given.get("view")) ?? "chat" });
}

/** Return the query of a route, `?` included. It is never empty, so that it can be used as a link. */
export function routeQuery(to: Partial<Route>): string {
  const parts = PARTS.flatMap((name) => (to[name] ? [[name, to[name]] as [string, string]] : []));
  const view: [string, string][] = to.view === undefined || to.view === "chat" ? [] : [["view", to.view]];
  return `?${new URLSearchParams([...view, ...parts]).toString()}`;
}
