/** Copies a text to the person's clipboard. If the browser requires a click, the card of the call asks for it. */
import * as z from "zod/mini";
import { ToolError } from "../tools/errors.ts";
import type { ToolDefinition } from "../tools/types.ts";
import { gestures, isNotAllowed } from "./gestures.ts";

const MAX_TEXT = 100_000;

const schema = z.strictObject({
  text: z.string().check(z.minLength(1), z.maxLength(MAX_TEXT), z.describe("The text to copy")),
});

export const copyToClipboardTool: ToolDefinition<z.infer<typeof schema>> = {
  name: "copy_to_clipboard",
  description: "Copy a text to the clipboard of the user's device. It replaces what the clipboard contains.",
  schema,
  metadata: { title: "Copy to clipboard", category: "browser", idempotent: true, tags: ["browser"] },
  async handler({ text }, { toolCallId, signal }) {
    const clipboard = (navigator as { readonly clipboard?: Clipboard }).clipboard;
    if (clipboard === undefined) {
      throw new ToolError("This page cannot use the clipboard, because it was not loaded over HTTPS.", {
        category: "permanent",
      });
    }
    try {
      await clipboard.writeText(text);
    } catch (error) {
      if (!isNotAllowed(error)) throw error;
      await gestures.request(toolCallId, "copy", signal);
      await clipboard.writeText(text).catch(refuse);
    }
    return `Copied ${text.length} characters.`;
  },
};

function refuse(error: unknown): never {
  if (!isNotAllowed(error)) throw error;
  throw new ToolError("The user's browser does not allow this page to use the clipboard. Nothing was copied.", {
    category: "permanent",
    cause: error,
  });
}
