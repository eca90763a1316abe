/** The number of requests that wait, where the person sees it: at the link, in the title of the page, on its icon. */
import { PAGE } from "./open-requests.ts";

/** The count as a text. More than a page is not counted. */
export function countText(count: number): string {
  return count >= PAGE ? `${PAGE - 1}+` : String(count);
}

/** The title of the page. */
export function titleWith(count: number, name: string): string {
  return count > 0 ? `(${countText(count)}) ${name}` : name;
}

/** Show the count on the icon of the installed page, if the browser can do that. */
export async function showAppBadge(count: number): Promise<void> {
  try {
    if (count > 0) await navigator.setAppBadge?.(count);
    else await navigator.clearAppBadge?.();
  } catch {
    // the page is not installed, or may not
  }
}
