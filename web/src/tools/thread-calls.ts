/** Calls in the messages of a thread: pure functions over AG-UI's messages. */
import type { Message, ToolMessage } from "@ag-ui/client";
import { CATEGORIES, ToolError } from "./errors.ts";
import { newId } from "./new-id.ts";
import type { ToolExecutionResult } from "./types.ts";

/** A call that the model made. */
export interface ThreadCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it; incomplete while it arrives. */
  readonly argsText: string;
}

/** Return the calls of a thread that have no result, in their order. */
export function openCalls(messages: readonly Message[]): ThreadCall[] {
  const answered = new Set(messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])));
  return messages
    .flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
    .filter((call) => !answered.has(call.id))
    .map((call) => ({ id: call.id, name: call.function.name, argsText: call.function.arguments }));
}

/** Parse the arguments of a call. Text that is not JSON is returned as it is, and the tool's schema refuses it. */
export function argsOf({ argsText }: ThreadCall): unknown {
  if (argsText.trim() === "") return {};
  try {
    return JSON.parse(argsText);
  } catch {
    return argsText;
  }
}

/** Make the message that tells the model the result of a call, or its error. */
export function resultMessage(toolCallId: string, outcome: ToolExecutionResult): ToolMessage {
  const message = { id: newId("result_"), role: "tool", toolCallId } as const;
  if (outcome.success) return { ...message, content: outcome.result };
  return { ...message, content: JSON.stringify(outcome.error.toModel()), error: outcome.error.message };
}

/**
 * Close the calls that a run left open when it was aborted, because no provider accepts a call without a result.
 *
 * A call whose arguments are complete gets the result that it was cancelled. One that was cut off is removed.
 */
export function withClosedCalls(messages: readonly Message[], ids: ReadonlySet<string>): Message[] {
  const left = openCalls(messages).filter((call) => ids.has(call.id));
  const cut = new Set(left.filter((call) => typeof argsOf(call) === "string").map((call) => call.id));
  const complete = new Set(left.filter((call) => !cut.has(call.id)).map((call) => call.id));
  const error = new ToolError(CATEGORIES.cancelled.message, { category: "cancelled" });
  return messages.flatMap((message): Message[] => {
    if (message.role !== "assistant" || message.toolCalls === undefined) return [message];
    const { toolCalls: all, ...rest } = message;
    const toolCalls = all.filter((call) => !cut.has(call.id));
    if (toolCalls.length === 0) return message.content ? [rest] : [];
    const cancelled = toolCalls.filter((call) => complete.has(call.id));
    return [{ ...rest, toolCalls }, ...cancelled.map(({ id }) => resultMessage(id, { success: false, error }))];
  });
}
