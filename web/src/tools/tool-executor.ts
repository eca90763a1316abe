/** How one attempt is carried out. Retries, timeouts and events are the manager's. */
import { abortable } from "./abortable.ts";
import { parseArguments } from "./argument-parsing.ts";
import { ToolError } from "./errors.ts";
import type { ToolDefinition, ToolExecutionContext } from "./types.ts";

/** The port of an executor. */
export interface ToolExecutor {
  /**
   * Carry out one attempt, and return its result. Rejects with whatever went wrong, and with the reason of
   * `context.signal` as soon as that aborts.
   *
   * @param onExecuting called right before the handler. If it throws, the handler must not be called.
   */
  execute(
    tool: ToolDefinition,
    args: unknown,
    context: ToolExecutionContext,
    onExecuting?: () => void,
  ): Promise<string>;
}

/** Calls the handler with the arguments as they are. A handler that ignores the signal does not delay the end. */
export class DefaultToolExecutor implements ToolExecutor {
  async execute(
    tool: ToolDefinition,
    args: unknown,
    context: ToolExecutionContext,
    onExecuting?: () => void,
  ): Promise<string> {
    context.signal.throwIfAborted();
    onExecuting?.();
    const result: unknown = await abortable(call(tool, args, context), context.signal);
    if (typeof result !== "string") {
      throw new ToolError(
        `The tool ${tool.name} returned ${result === null ? "null" : typeof result} instead of a string.`,
      );
    }
    return result;
  }
}

/** Validates the arguments with the tool's schema, and hands what Zod made of them to another executor. */
export class ValidatingToolExecutor implements ToolExecutor {
  readonly #inner: ToolExecutor;

  constructor(inner: ToolExecutor = new DefaultToolExecutor()) {
    this.#inner = inner;
  }

  async execute(
    tool: ToolDefinition,
    args: unknown,
    context: ToolExecutionContext,
    onExecuting?: () => void,
  ): Promise<string> {
    context.signal.throwIfAborted();
    const parsed = await abortable(parseArguments(tool.schema, args), context.signal);
    return this.#inner.execute(tool, parsed, context, onExecuting);
  }
}

/** Call a handler; what it throws at once is a rejection too. */
async function call(tool: ToolDefinition, args: unknown, context: ToolExecutionContext): Promise<unknown> {
  return tool.handler(args, context);
}
