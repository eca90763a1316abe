/**
 * The order of the requests in the inbox. New requests do not move those that are shown, which a person may be about to
 * answer: they are shown on demand. Pure functions.
 */
import { byUrgency, type InboxRequest } from "./inbox-request.ts";

/** Requests on a page of the inbox. */
export const SHOWN = 20;

/** The ids of all requests, in the order to show them. */
export const orderOf = (requests: readonly InboxRequest[]): string[] => byUrgency(requests).map(({ id }) => id);

/** The next order: closed requests are gone, and new ones are added if nothing is shown yet. */
export function nextOrder(order: readonly string[], requests: readonly InboxRequest[]): readonly string[] {
  const open = new Set(requests.map(({ id }) => id));
  const kept = order.filter((id) => open.has(id));
  if (kept.length === 0) return orderOf(requests);
  return kept.length === order.length ? order : kept;
}

/** Requests that are not shown yet. */
export function unshown(order: readonly string[], requests: readonly InboxRequest[]): InboxRequest[] {
  const shown = new Set(order);
  return requests.filter(({ id }) => !shown.has(id));
}

/** A page of the inbox, and its number, which is the last one if there are fewer pages now. */
export function pageOf(
  order: readonly string[],
  requests: readonly InboxRequest[],
  wanted: number,
): { readonly number: number; readonly items: InboxRequest[] } {
  const number = Math.min(wanted, Math.max(0, Math.ceil(order.length / SHOWN) - 1));
  const found = new Map(requests.map((each) => [each.id, each]));
  const ids = order.slice(number * SHOWN, (number + 1) * SHOWN);
  return { number, items: ids.map((id) => found.get(id)).filter((each) => each !== undefined) };
}
