// Drives CopilotKit for a test: its agent for pages talks to its runtime, and the runtime to the server. The runtime is
// called directly, not over the network. One command per line of the input, one answer each.
import { createInterface } from "node:readline";
import { HttpAgent, buildResumeArray } from "@ag-ui/client";

process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
process.env.DO_NOT_TRACK = "1";
const { CopilotRuntime, InMemoryAgentRunner, createCopilotRuntimeHandler } = await import("@copilotkit/runtime/v2");
const { ProxiedCopilotRuntimeAgent } = await import("@copilotkit/core");

const [url, threadId] = process.argv.slice(2);
const BASE = "http://copilotkit.invalid/api/copilotkit";
const tell = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const log = (...said) => process.stderr.write(`${said.map(String).join(" ")}\n`);
for (const level of ["log", "info", "warn", "error", "debug"]) console[level] = log;

const runtime = new CopilotRuntime({
  agents: { default: new HttpAgent({ url }) },
  runner: new InMemoryAgentRunner(),
});
const handle = createCopilotRuntimeHandler({ runtime, basePath: "/api/copilotkit" });
const overNetwork = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const target = String(input?.url ?? input);
  if (target.startsWith(BASE)) return handle(new Request(input, init));
  if (target.startsWith(url)) return overNetwork(input, init);
  return Promise.reject(new Error(`This test reaches nothing but its own server: ${target}`));
};

const pages = new Map();

function pageOf(name) {
  if (!pages.has(name)) {
    pages.set(name, new ProxiedCopilotRuntimeAgent({ runtimeUrl: BASE, agentId: "default", threadId }));
  }
  return pages.get(name);
}

async function run(command) {
  const agent = pageOf(command.page ?? "one");
  for (const message of command.messages ?? []) agent.addMessage(message);
  const events = [];
  const parameters = {
    tools: command.tools ?? [],
    context: command.context ?? [],
    forwardedProps: command.forwardedProps ?? {},
  };
  if (command.answers) parameters.resume = buildResumeArray(agent.pendingInterrupts, command.answers);
  let finished = null;
  let error = null;
  try {
    await agent.runAgent(parameters, {
      onEvent: ({ event }) => void events.push(event.type),
      onRunFinishedEvent: ({ event, outcome }) => {
        finished = { outcome, result: event.result ?? null };
      },
      onRunErrorEvent: ({ event }) => {
        error = { message: event.message, code: event.code };
      },
    });
  } catch (failure) {
    error = error ?? { message: String(failure?.message ?? failure), thrown: true };
  }
  tell({ finished, error, events, messages: agent.messages, pending: agent.pendingInterrupts, state: agent.state });
}

for await (const line of createInterface({ input: process.stdin })) await run(JSON.parse(line));
process.exit(0);
