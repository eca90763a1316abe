/** Tells the model the time on the person's device. */
import * as z from "zod/mini";
import type { ToolDefinition } from "../tools/types.ts";

const schema = z.strictObject({});

export const localTimeTool: ToolDefinition<z.infer<typeof schema>> = {
  name: "local_time",
  description: "Return the date, time and time zone of the user's own device. Use it for “here”, “today” or “now”.",
  schema,
  metadata: { title: "Local time", category: "browser", idempotent: true, tags: ["browser"], timeout: 5_000 },
  handler: () => {
    const now = new Date();
    return JSON.stringify({
      time: withOffset(now),
      text: new Intl.DateTimeFormat(navigator.language, { dateStyle: "full", timeStyle: "short" }).format(now),
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    });
  },
};

/** A time in ISO 8601, with the offset of the device. */
export function withOffset(time: Date, minutes = -time.getTimezoneOffset()): string {
  const two = (number: number) => String(Math.floor(Math.abs(number))).padStart(2, "0");
  const local = new Date(time.getTime() + minutes * 60_000).toISOString().slice(0, 19);
  return `${local}${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
}
