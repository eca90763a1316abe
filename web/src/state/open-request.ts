/** Open requests, as elements show them, from those of the server's lists and states. Pure functions. */
import type { RequestInfo } from "../api/wire.ts";
import type { OpenRequest } from "./conversation.ts";

/** The path of a whole request. Lists and states leave its long fields out. */
export const requestPath = (id: string): string => `/api/requests/${encodeURIComponent(id)}`;

/** Return a request as its element shows it. */
export function openRequest(info: RequestInfo, payload: unknown = info.payload): OpenRequest {
  return {
    id: info.request_id,
    purpose: info.purpose ?? "",
    payload,
    schema: info.answer_schema ?? {},
    argumentsHash: info.arguments_hash ?? null,
    expiresAt: info.expires_at ?? null,
    isCut: Object.keys(info.cut ?? {}).length > 0,
  };
}
