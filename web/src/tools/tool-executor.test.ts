import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as z from "zod";
import { ToolError } from "./errors.ts";
import { DefaultToolExecutor, ValidatingToolExecutor } from "./tool-executor.ts";
import type { ToolDefinition, ToolExecutionContext } from "./types.ts";

function context(signal = new AbortController().signal): ToolExecutionContext {
  return { executionId: "x", toolCallId: "c", signal, attemptNumber: 1, maxAttempts: 3 };
}

function tool(schema: z.ZodType, handler: ToolDefinition["handler"]): ToolDefinition {
  return { name: "t", description: "T.", schema, handler };
}

const never = () => new Promise<string>(() => {});
const isValidation = (error: unknown) => error instanceof ToolError && error.category === "validation";

for (const executor of [new DefaultToolExecutor(), new ValidatingToolExecutor()]) {
  describe(executor.constructor.name, () => {
    const execute = (handler: ToolDefinition["handler"], signal?: AbortSignal, onExecuting?: () => void) =>
      executor.execute(tool(z.any(), handler), {}, context(signal), onExecuting);

    test("returns the result of a handler, sync or async, and hands it the context", async () => {
      assert.equal(await execute(() => "now"), "now");
      assert.equal(await execute(async (_, { executionId, toolCallId }) => executionId + toolCallId), "xc");
    });

    test("rejects with what the handler throws", async () => {
      const error = new Error("no");
      const fail = () => {
        throw error;
      };
      await assert.rejects(execute(fail), error);
      await assert.rejects(
        execute(async () => fail()),
        error,
      );
    });

    test("a handler that ignores the signal does not delay the end", async () => {
      const controller = new AbortController();
      const work = execute(never, controller.signal);
      controller.abort(new Error("stop"));
      await assert.rejects(work, /stop/);
    });

    test("does not call the handler after an abort, or if onExecuting throws", async () => {
      let called = false;
      const handler = () => ((called = true), "");
      await assert.rejects(execute(handler, AbortSignal.abort(new Error("stop"))), /stop/);
      const refuse = () => {
        throw new Error("refused");
      };
      await assert.rejects(execute(handler, undefined, refuse), /refused/);
      assert.equal(called, false);
    });

    test("calls onExecuting once, right before the handler", async () => {
      const order: string[] = [];
      await execute(
        () => (order.push("handler"), ""),
        undefined,
        () => order.push("executing"),
      );
      assert.deepEqual(order, ["executing", "handler"]);
    });

    test("refuses a result that is not a text", async () => {
      for (const result of [undefined, null, 5, {}]) {
        await assert.rejects(
          execute(() => result as unknown as string),
          /instead of a string/,
        );
      }
    });
  });
}

test("DefaultToolExecutor passes the arguments as they are", async () => {
  const strict = tool(z.object({ n: z.number() }), (args) => JSON.stringify(args));
  assert.equal(await new DefaultToolExecutor().execute(strict, { n: "x" }, context()), '{"n":"x"}');
});

describe("ValidatingToolExecutor", () => {
  const execute = (schema: z.ZodType, args: unknown) =>
    new ValidatingToolExecutor().execute(
      tool(schema, (parsed) => JSON.stringify(parsed)),
      args,
      context(),
    );

  test("hands the handler what Zod made of the arguments", async () => {
    const schema = z.object({ n: z.string().transform(Number), d: z.string().default("x") });
    assert.equal(await execute(schema, { n: "5", extra: 1 }), '{"n":5,"d":"x"}');
    const asynchronous = z.object({ n: z.number().refine(async (n) => n > 0) });
    assert.equal(await execute(asynchronous, { n: 5 }), '{"n":5}');
    await assert.rejects(execute(asynchronous, { n: -5 }), isValidation);
  });

  test("rejects bad arguments with a list of all of them, before the handler runs", async () => {
    const schema = z.object({ a: z.string(), b: z.object({ c: z.number() }) });
    await assert.rejects(execute(schema, { a: 1, b: { c: "x" } }), (error: ToolError) => {
      assert.deepEqual(
        error.validationErrors.map(({ path, received }) => [path, received]),
        [
          ["a", 1],
          ["b.c", "x"],
        ],
      );
      return isValidation(error);
    });
    await assert.rejects(execute(schema, "not an object"), isValidation);
  });

  test("takes a missing nullable property as null, as the schema for the model says", async () => {
    const schema = z.object({ a: z.string().nullable(), b: z.object({ c: z.number().nullable() }) });
    assert.equal(await execute(schema, { b: {} }), '{"a":null,"b":{"c":null}}');
    await assert.rejects(execute(schema, {}), (error: ToolError) => {
      assert.ok(error.validationErrors.some(({ path }) => path === "b"));
      return isValidation(error);
    });
    await assert.rejects(execute(z.object({ a: z.string() }), {}), isValidation);
  });

  test("wraps any other executor", async () => {
    const inner = { execute: async (_: ToolDefinition, args: unknown) => `inner ${JSON.stringify(args)}` };
    const schema = z.object({ n: z.coerce.number() });
    const result = await new ValidatingToolExecutor(inner).execute(tool(schema, never), { n: "5" }, context());
    assert.equal(result, 'inner {"n":5}');
  });
});
