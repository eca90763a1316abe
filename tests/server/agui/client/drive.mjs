// Drives the real client for a test: one command per line of the input, what happens per line of the output.
import { createInterface } from "node:readline";
import { HttpAgent, buildResumeArray } from "@ag-ui/client";

const [url, threadId] = process.argv.slice(2);
const agents = new Map();
const tell = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

for (const level of ["warn", "error"]) {
  console[level] = (...said) => tell({ complaint: { level, said: said.map(String).join(" ") } });
}

function agentOf(name) {
  if (!agents.has(name)) agents.set(name, new HttpAgent({ url, threadId }));
  return agents.get(name);
}

async function run(command) {
  const agent = agentOf(command.agent ?? "one");
  for (const message of command.messages ?? []) agent.addMessage(message);
  let finished = null;
  let result = null;
  const parameters = { tools: command.tools ?? [] };
  if (command.answers) parameters.resume = buildResumeArray(agent.pendingInterrupts, command.answers);
  if (command.resume) parameters.resume = command.resume;
  let error = null;
  try {
    await agent.runAgent(parameters, {
      onEvent: ({ event }) => {
        tell({ event });
        if (event.type === command.leaveAt) agent.abortRun();
      },
      onRunFinishedEvent: ({ event, outcome, interrupts, pendingToolCallIds }) => {
        finished = { outcome, interrupts, pendingToolCallIds };
        result = event.result ?? null;
      },
      onRunErrorEvent: ({ event }) => {
        error = { message: event.message, code: event.code };
      },
    });
  } catch (failure) {
    error = error ?? { message: String(failure.message ?? failure), thrown: true };
  }
  tell({
    done: { finished, result, error, messages: agent.messages, state: agent.state, pending: agent.pendingInterrupts },
  });
}

for await (const line of createInterface({ input: process.stdin })) await run(JSON.parse(line));
