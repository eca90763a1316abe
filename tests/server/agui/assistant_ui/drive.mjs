// Drives assistant-ui's AG-UI runtime for a test, without React: one command per line of the input, one answer each.
import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";
import { AgUiThreadRuntimeCore } from "./node_modules/@assistant-ui/react-ag-ui/dist/runtime/AgUiThreadRuntimeCore.js";

const [url, threadId] = process.argv.slice(2);
const tell = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const pages = new Map();
let errors = [];
const note = (...said) => errors.push(said.map((each) => String(each?.message ?? each)).join(" "));

function pageOf(name) {
  if (!pages.has(name)) {
    const core = new AgUiThreadRuntimeCore({
      agent: new HttpAgent({ url, threadId }),
      logger: { debug() {}, error: note, warn: note },
      showThinking: true,
      onError: note,
      notifyUpdate() {},
    });
    const page = { core, context: {} };
    core.attachRuntime({ thread: { getModelContext: () => page.context } });
    pages.set(name, page);
  }
  return pages.get(name);
}

function shown(message) {
  const parts = message.content.map((part) =>
    part.type === "tool-call"
      ? { call: part.toolCallId, tool: part.toolName, args: part.args, result: part.result ?? null }
      : { text: part.text ?? null, type: part.type },
  );
  return { id: message.id, role: message.role, status: message.status ?? null, parts };
}

async function run(command) {
  const { core, context } = pageOf(command.page ?? "one");
  errors = [];
  if (command.tools) context.tools = command.tools;
  if (command.system) context.system = command.system;
  try {
    if (command.say !== undefined) {
      await core.append({
        role: "user",
        content: [{ type: "text", text: command.say }],
        parentId: core.getMessages().at(-1)?.id ?? null,
        sourceId: null,
        runConfig: {},
        createdAt: new Date(),
        attachments: [],
        metadata: { custom: {} },
      });
    }
    if (command.responses) await core.submitInterruptResponses(command.responses);
    if (command.result) {
      const messageId = core.findMessageIdForToolCall(command.result.toolCallId);
      core.addToolResult({ messageId, isError: false, ...command.result });
      while (core.isRunning()) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  } catch (failure) {
    note(failure);
  }
  tell({
    messages: core.getMessages().map(shown),
    interrupts: core.getPendingInterrupts()?.interrupts ?? [],
    state: core.getState() ?? null,
    errors,
  });
}

for await (const line of createInterface({ input: process.stdin })) await run(JSON.parse(line));
