/** Saves a text as a file on the person's device. */
import * as z from "zod/mini";
import type { ToolDefinition } from "../tools/types.ts";

const MAX_CONTENT = 200_000;
const KEPT_FOR = 60_000; // milliseconds in which the browser can read the file

/** Media types by file extension. Other extensions would let a model place a program or a page on the device. */
const TYPES: Readonly<Record<string, string>> = {
  csv: "text/csv",
  ics: "text/calendar",
  json: "application/json",
  log: "text/plain",
  md: "text/markdown",
  tsv: "text/tab-separated-values",
  txt: "text/plain",
  yaml: "text/plain",
};

const schema = z.strictObject({
  name: z.string().check(z.minLength(1), z.maxLength(100), z.describe("The name of the file, such as prices.csv")),
  content: z.string().check(z.maxLength(MAX_CONTENT), z.describe("The content of the file")),
});

export const downloadFileTool: ToolDefinition<z.infer<typeof schema>> = {
  name: "download_file",
  description:
    `Save a text as a file on the user's device, such as a result that the user wants to keep. ` +
    `Endings: ${Object.keys(TYPES).join(", ")}; others become .txt.`,
  schema,
  metadata: { title: "Download a file", category: "browser", idempotent: false, tags: ["browser"] },
  handler({ name, content }) {
    const file = safeName(name);
    const blob = new Blob([content], { type: TYPES[endingOf(file)] ?? "text/plain" });
    const link = document.createElement("a");
    link.download = file;
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), KEPT_FOR);
    return JSON.stringify({ name: file, bytes: blob.size });
  },
};

/** Return a file name without folders, control characters and unknown extensions. */
export function safeName(name: string): string {
  const plain = name
    .replace(/[\p{Cc}\p{Cf}<>:"|?*]/gu, "")
    .replace(/^.*[/\\]/, "")
    .replace(/^[. ]+|[. ]+$/g, "");
  if (plain === "") return "file.txt";
  return Object.hasOwn(TYPES, endingOf(plain)) ? plain : `${plain}.txt`;
}

function endingOf(name: string): string {
  return name.includes(".") ? name.slice(name.lastIndexOf(".") + 1).toLowerCase() : "";
}
