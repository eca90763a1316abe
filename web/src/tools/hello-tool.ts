/** The example of the guide: a tool that greets. */
import * as z from "zod";
import type { ToolDefinition } from "./types.ts";

const schema = z.object({
  name: z.string().min(1).describe("Whom to greet"),
  language: z.enum(["en", "de", "fr"]).default("en").describe("Language of the greeting"),
});

const GREETINGS = { en: "Hello", de: "Hallo", fr: "Bonjour" };

export const helloTool: ToolDefinition<z.infer<typeof schema>> = {
  name: "hello",
  description: "Greet a person by name.",
  schema,
  metadata: { category: "example", idempotent: true, tags: ["example"] },
  handler: ({ name, language }) => `${GREETINGS[language]}, ${name}!`,
};
