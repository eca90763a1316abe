/** A request of the inbox: as the server lists it, as elements show it, and the order in which they are shown. */
import type { RequestInfo } from "../api/wire.ts";
import type { OpenRequest } from "./conversation.ts";
import { openRequest } from "./open-request.ts";

/** A request in a list over all conversations. */
export interface ListedRequest extends RequestInfo {
  readonly session_id: string;
  readonly created_at: string;
}

/** The same as elements show it. */
export interface InboxRequest {
  readonly id: string;
  readonly sessionId: string;
  readonly executionId: string;
  readonly tool: string;
  readonly createdAt: string;
  /** The request as its element shows it. */
  readonly open: OpenRequest;
  /** The start of a payload that the list leaves out. */
  readonly excerpt: string | null;
}

/** The requests to show: those that expire soonest, and then the others, the newest first. */
export function byUrgency(requests: readonly InboxRequest[]): InboxRequest[] {
  const expiry = ({ open }: InboxRequest) => (open.expiresAt === null ? Infinity : Date.parse(open.expiresAt));
  return [...requests].sort(
    (one, other) => compare(expiry(one), expiry(other)) || other.createdAt.localeCompare(one.createdAt),
  );
}

/** A request of a list, as elements show it. */
export function inboxRequest(info: ListedRequest): InboxRequest {
  return {
    id: info.request_id,
    sessionId: info.session_id,
    executionId: info.execution_id,
    tool: info.tool,
    createdAt: info.created_at,
    excerpt: info.cut?.["payload"]?.excerpt ?? null,
    open: openRequest(info),
  };
}

const compare = (one: number, other: number) => (one === other ? 0 : one < other ? -1 : 1);
