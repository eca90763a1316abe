/** The list of conversations, as pages of it arrive. Pure functions. */
import type { SessionInfo } from "../api/wire.ts";

/**
 * Put the first page before the sessions that are listed. A listed session that belongs into the page and is not in it was
 * deleted.
 */
export function mergeFirstPage(
  listed: readonly SessionInfo[],
  page: readonly SessionInfo[],
  isComplete: boolean,
): SessionInfo[] {
  if (isComplete) return [...page];
  const found = new Set(page.map(({ session_id: id }) => id));
  const oldest = activityOf(page.at(-1));
  const rest = listed.filter((each) => !found.has(each.session_id) && activityOf(each) <= oldest);
  return [...page, ...rest];
}

/** Add a later page. A session that is listed already has its newest state in it. */
export function mergeNextPage(listed: readonly SessionInfo[], page: readonly SessionInfo[]): SessionInfo[] {
  const found = new Map(listed.map((each) => [each.session_id, each]));
  for (const each of page) found.set(each.session_id, each);
  return [...found.values()].sort((one, other) => activityOf(other).localeCompare(activityOf(one)));
}

const activityOf = (session: SessionInfo | undefined): string => session?.last_activity_at ?? session?.created_at ?? "";
