/** A request of the API explorer: its address, headers and body, and the command for a shell. */
import { hasOwn, isFields } from "../api/wire.ts";
import type { Operation } from "./openapi.ts";

export interface ApiRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

const MASK = "••••••••";

/** Make a request from the values of the parameters and of the body. Parameters without a value are left out. */
export function requestOf(operation: Operation, parameters: unknown, body: unknown): ApiRequest {
  const values = isFields(parameters) ? parameters : {};
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  let { path } = operation;
  for (const { name, place } of operation.parameters) {
    const value = hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined || value === null || value === "") continue;
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (place === "path") path = path.replaceAll(`{${name}}`, encodeURIComponent(text));
    else if (place === "query") query.append(name, text);
    else headers[name.toLowerCase()] = text;
  }
  const hasBody = operation.body !== null && body !== undefined;
  if (hasBody) headers["content-type"] = "application/json";
  const encoded = query.toString();
  return {
    method: operation.method,
    path: encoded === "" ? path : `${path}?${encoded}`,
    headers,
    body: hasBody ? JSON.stringify(body) : null,
  };
}

/** The address of a request. Throws an error if it is not on the server of the page. */
export function addressOf({ path }: ApiRequest, origin: string, refused: string): string {
  let address: URL;
  try {
    address = new URL(path, origin);
  } catch {
    throw new Error(refused);
  }
  if (!path.startsWith("/") || address.origin !== origin) throw new Error(refused);
  return address.href;
}

/** The command for a shell. The token is masked unless it is to be revealed; without a token there is no header. */
export function curlOf(
  request: ApiRequest,
  origin: string,
  token: string,
  isRevealed: boolean,
  isStream = false,
): string {
  const parts = [`curl${isStream ? " -N" : ""}${request.method === "GET" ? "" : ` -X ${request.method}`}`];
  parts.push(quoted(origin + request.path));
  if (token !== "") parts.push(`-H ${quoted(`Authorization: Bearer ${isRevealed ? token : MASK}`)}`);
  for (const [name, value] of Object.entries(request.headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (request.body !== null) parts.push(`--data-raw ${quoted(request.body)}`);
  return parts.join(" \\\n  ");
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
