/** Tells the model which page the person has open, and on which screen. Positions on the globe are not part of it. */
import * as z from "zod/mini";
import type { ToolDefinition } from "../tools/types.ts";

const schema = z.strictObject({});

export const whereAmITool: ToolDefinition<z.infer<typeof schema>> = {
  name: "where_am_i",
  description:
    "Return the page that the user has open in the browser: its address and title, the language and time zone of the " +
    "user, and the size of the screen. It does not know where the user is on the globe.",
  schema,
  metadata: { title: "Where am I", category: "browser", idempotent: true, tags: ["browser"], timeout: 5_000 },
  handler: () => {
    const { origin, pathname } = globalThis.location; // without the query, which may contain credentials
    const { width, height } = globalThis.screen;
    return JSON.stringify({
      address: origin + pathname,
      title: document.title,
      language: navigator.language,
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      screen: `${width} × ${height}`,
      window: `${globalThis.innerWidth} × ${globalThis.innerHeight}`,
    });
  },
};
