/** Shows a notification of the person's system. If it is not allowed yet, the card of the call asks for it. */
import * as z from "zod/mini";
import { ToolError } from "../tools/errors.ts";
import type { ToolDefinition } from "../tools/types.ts";
import { gestures } from "./gestures.ts";

const schema = z.strictObject({
  title: z.string().check(z.minLength(1), z.maxLength(100), z.describe("The title, a few words")),
  body: z._default(z.string().check(z.maxLength(500), z.describe("The text below the title")), ""),
});

export const showNotificationTool: ToolDefinition<z.infer<typeof schema>> = {
  name: "show_notification",
  description: "Notify the user on the device: a notification of the system, which is seen outside of the page.",
  schema,
  // a repeated notification has the same tag, and replaces the first
  metadata: { title: "Notify", category: "browser", idempotent: true, tags: ["browser"] },
  async handler({ title, body }, { toolCallId, signal }) {
    const { Notification } = globalThis as { readonly Notification?: typeof globalThis.Notification };
    if (Notification === undefined) throw refusal("This browser has no notifications for pages.");
    let { permission } = Notification;
    if (permission === "default") {
      await gestures.request(toolCallId, "notify", signal);
      permission = await Notification.requestPermission();
    }
    if (permission !== "granted") throw refusal("The user does not allow notifications of this page.");
    try {
      new Notification(title, { body, tag: toolCallId });
    } catch (error) {
      throw refusal("This browser does not let pages notify.", error); // such as Chrome on Android
    }
    return "Notified.";
  },
};

function refusal(reason: string, cause?: unknown): ToolError {
  return new ToolError(`${reason} The user was not notified.`, { category: "permanent", cause });
}
