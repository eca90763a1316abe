/** What completes a snapshot: the whole of long requests, results of calls that ended before it, and their histories. */
import type { Query } from "../api/api-client.ts";
import type { EventPage, ExecutionInfo, RequestInfo } from "../api/wire.ts";
import { type Conversation, lacksHistory, lacksResponse } from "./conversation.ts";
import { requestPath } from "./open-request.ts";
import { addHistory, addTurnEnd, completeRequest, settle } from "./reducer.ts";

const PAGES = 8; // pages of 500 past events that are read for the history of the cards

/** The conversation of a snapshot. */
export interface CompletionPort {
  /** Read from the server. Undefined if there is a newer snapshot, or if the server refuses. */
  read<T>(path: string, query: Query): Promise<T | undefined>;
  /** Replace the conversation by the next one, which is returned. */
  change(next: (before: Conversation) => Conversation): Conversation;
}

/** Load the whole of requests of which the snapshot has only a part. */
export async function loadRequests(port: CompletionPort, requests: readonly RequestInfo[]): Promise<void> {
  for (const { request_id: id, cut } of requests) {
    if (!cut) continue;
    const whole = await port.read<RequestInfo>(requestPath(id), {});
    if (whole !== undefined) port.change((before) => completeRequest(before, whole));
  }
}

/** Load the results of calls that ended before the snapshot. */
export async function loadResults(port: CompletionPort): Promise<void> {
  const found = await port.read<{ executions: ExecutionInfo[] }>("/api/executions", { limit: 1000 });
  if (found !== undefined) port.change((before) => settle(before, found.executions));
}

/** Add the history of the cards from the events before the snapshot. */
export async function loadHistory(port: CompletionPort, lastSeq: number): Promise<void> {
  let conversation = port.change((before) => before);
  let before: number | null = lastSeq + 1;
  for (let page = 0; page < PAGES && before !== null && before > 1; page++) {
    if (!lacksHistory(conversation) && (page > 0 || !lacksResponse(conversation))) return;
    const found: EventPage | undefined = await port.read<EventPage>("/api/events", { before, limit: 500 });
    if (found === undefined) return;
    conversation = port.change((known) => {
      const complete = addHistory(known, found.events);
      return page === 0 ? addTurnEnd(complete, found.events) : complete;
    });
    before = found.next;
  }
}
