import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Message } from "@ag-ui/client";
import { ToolError } from "./errors.ts";
import { argsOf, openCalls, resultMessage, withClosedCalls } from "./thread-calls.ts";

function assistant(id: string, content: string, ...ids: [string, string][]): Message {
  const toolCalls = ids.map(([call, args]) => ({
    id: call,
    type: "function" as const,
    function: { name: "t", arguments: args },
  }));
  return { id, role: "assistant", content, toolCalls };
}

const result = (toolCallId: string): Message => ({ id: `r${toolCallId}`, role: "tool", toolCallId, content: "done" });
const kinds = (messages: Message[]) =>
  messages.map((message) =>
    message.role === "tool"
      ? message.toolCallId
      : message.role === "assistant"
        ? (message.toolCalls?.length ?? 0)
        : message.role,
  );

describe("openCalls", () => {
  test("are those without a result, in their order", () => {
    const messages = [assistant("a", "", ["c1", "{}"], ["c2", "{}"]), result("c1"), assistant("b", "", ["c3", "{}"])];
    assert.deepEqual(
      openCalls(messages).map(({ id }) => id),
      ["c2", "c3"],
    );
    assert.deepEqual(openCalls([{ id: "u", role: "user", content: "" }]), []);
  });
});

test("arguments are JSON, nothing is an empty object, and other text stays text", () => {
  const args = ['{"a":1}', "", "  ", "{", "[1]"].map((argsText) => argsOf({ id: "", name: "", argsText }));
  assert.deepEqual(args, [{ a: 1 }, {}, {}, "{", [1]]);
});

test("a result is a message of the tool, with the error of a failure", () => {
  const { id, ...success } = resultMessage("c1", { success: true, result: "done" });
  assert.deepEqual(success, { role: "tool", toolCallId: "c1", content: "done" });
  const error = new ToolError("no", { category: "permanent" });
  const failure = resultMessage("c1", { success: false, error });
  assert.deepEqual(
    [failure.error, JSON.parse(String(failure.content))],
    ["no", { category: "permanent", message: "no" }],
  );
  assert.notEqual(failure.id, id);
});

describe("withClosedCalls", () => {
  const ids = new Set(["c1", "c2", "c3"]);

  test("leaves other messages and answered calls as they are", () => {
    const messages: Message[] = [
      { id: "u", role: "user", content: "x" },
      assistant("a", "", ["c1", "{}"]),
      result("c1"),
      assistant("b", "", ["old", "{}"]),
    ];
    assert.deepEqual(withClosedCalls(messages, ids), messages);
  });

  test("complete calls are cancelled, and those that were cut off are removed", () => {
    const messages = [assistant("a", "", ["c1", "{}"], ["c2", '{"n'], ["c3", ""])];
    assert.deepEqual(kinds(withClosedCalls(messages, ids)), [2, "c1", "c3"]);
  });

  test("a message that is only a cut call is removed, one with text keeps it", () => {
    assert.deepEqual(kinds(withClosedCalls([assistant("a", "", ["c2", '{"n'])], ids)), []);
    assert.deepEqual(kinds(withClosedCalls([assistant("a", "Let me", ["c2", '{"n'])], ids)), [0]);
  });
});
