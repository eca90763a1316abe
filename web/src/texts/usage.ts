/** The texts about the usage of a model. */
import { viewTexts } from "../texts.ts";

export const usageTexts = viewTexts("usage", {
  label: "Usage of this conversation",
  tokens: (count: string) => `${count} tokens`,
  about: (amount: string) => `≈ ${amount}`,
  atLeast: (amount: string) => `≥ ${amount}`,
  requests: "Requests to the model",
  inputTokens: "Input tokens",
  outputTokens: "Output tokens",
  toolCalls: "Calls by the model",
  cost: "Estimated cost",
  unknownCost: "No price is known for this model.",
  unpriced: (count: number) => `Excludes ${count} ${count === 1 ? "request" : "requests"} with an unknown price.`,
});
