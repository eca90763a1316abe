/** A fake of `fetch` for tests: an AG-UI agent that answers each run with scripted events. */
import type { RunAgentInput } from "@ag-ui/client";

/** An event of the protocol, as it goes over the wire. */
export type WireEvent = Record<string, unknown>;

/** What the agent sends to one run. It may wait between events; without RUN_FINISHED it sends that at the end. */
export type Script = (input: RunAgentInput, signal: AbortSignal) => AsyncIterable<WireEvent> | Iterable<WireEvent>;

export class ScriptedAgent {
  /** The inputs of all runs so far. */
  readonly runs: RunAgentInput[] = [];
  readonly #scripts: Script[];

  constructor(...scripts: Script[]) {
    this.#scripts = scripts;
  }

  /** The role and content of the messages of a run, and the ids of calls. */
  sent(run: number): unknown[] {
    return (this.runs[run]?.messages ?? []).map((message) => {
      if (message.role === "assistant" && message.toolCalls) return ["calls", ...message.toolCalls.map(({ id }) => id)];
      return [message.role, "content" in message ? message.content : undefined];
    });
  }

  readonly fetch = async (_url: string, init: RequestInit): Promise<Response> => {
    const input = JSON.parse(String(init.body)) as RunAgentInput;
    const script = this.#scripts[this.runs.length];
    this.runs.push(input);
    if (script === undefined) throw new TypeError("Failed to fetch");
    const signal = init.signal ?? new AbortController().signal;
    signal.throwIfAborted();
    const { threadId, runId } = input;
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        const send = (event: WireEvent) =>
          controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
        signal.addEventListener("abort", () => controller.error(signal.reason));
        send({ type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0" });
        let last: WireEvent = {};
        for await (const event of script(input, signal)) {
          if (signal.aborted) return;
          if (event["type"] === "CUT") return controller.close();
          last = event["type"] === "RUN_FINISHED" ? { threadId, runId, ...event } : event;
          send(last);
        }
        if (last["type"] !== "RUN_FINISHED" && last["type"] !== "RUN_ERROR") {
          send({ type: "RUN_FINISHED", threadId, runId, outcome: { type: "success" } });
        }
        controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
}

/** The events of a text of the model. */
export function says(text: string, messageId = `m-${text}`): WireEvent[] {
  return [
    { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId, delta: text },
    { type: "TEXT_MESSAGE_END", messageId },
  ];
}

/** The events of a call, whose arguments come in two pieces. */
export function calls(toolCallId: string, toolCallName: string, args: unknown): WireEvent[] {
  const text = typeof args === "string" ? args : JSON.stringify(args);
  return [
    { type: "TOOL_CALL_START", toolCallId, toolCallName },
    { type: "TOOL_CALL_ARGS", toolCallId, delta: text.slice(0, 3) },
    { type: "TOOL_CALL_ARGS", toolCallId, delta: text.slice(3) },
    { type: "TOOL_CALL_END", toolCallId },
  ];
}
