/** Runs of tools by hand, from the board of their session and from the list of its executions. Pure functions. */
import type { OutcomeInfo } from "../api/tool-wire.ts";
import { type ExecutionInfo, type Fields, isFields } from "../api/wire.ts";
import { type Call, type CallStatus, type Conversation, EMPTY_CONVERSATION, newCall } from "./conversation.ts";
import { endStatus } from "./results.ts";

/** A run that was started in this page. */
export interface Run {
  /** The id of the call. Sent again, it is the same call, so that nothing runs twice. */
  readonly callId: string;
  readonly tool: string;
  readonly arguments: unknown;
  readonly state: "sending" | "sent" | "unsent";
  /** Why the request failed. */
  readonly problem: string;
  readonly outcome: OutcomeInfo | null;
}

/** A run on the page. */
export interface ShownRun {
  readonly key: string;
  readonly call: Call;
  /** The arguments as they were sent. Undefined for a run of another page, whose secrets are masked. */
  readonly sent: unknown;
  /** Why the request failed. It can be sent again. */
  readonly problem: string;
}

/** The most runs of a tool that are shown. */
export const MAX_RUNS = 20;

const ENDS: ReadonlySet<string> = new Set(["succeeded", "failed", "cancelled"]);

/** The calls of listed executions, oldest first. */
export function callsOf(executions: readonly ExecutionInfo[]): Conversation {
  const calls = new Map<string, Call>();
  const keys = new Map<string, string>();
  for (const execution of executions) {
    const { execution_id: executionId, call_id: callId, tool, value, error = null } = execution;
    const key = `e${executionId}`;
    const call = newCall(key, {
      tool,
      executionId,
      arguments: isFields(execution.arguments) ? execution.arguments : {},
      status: endStatus(execution.status as CallStatus, error),
      attempt: Math.max(1, execution.attempt ?? 1),
      maximum: execution.max_attempts ?? 1,
      value: value ?? undefined,
      error,
      previousErrors: execution.previous_errors ?? [],
    });
    calls.set(key, call);
    keys.set(executionId, key);
    keys.set(callId, key);
  }
  const items = [...calls.keys()].map((key) => ({ type: "call" as const, key }));
  return { ...EMPTY_CONVERSATION, items, calls, keys };
}

/**
 * The runs of a tool, newest first: those that were sent but are not on the board yet, those on the board, and earlier
 * ones. A call that the board has is shown as the board says.
 */
export function shownRuns(
  tool: string,
  runs: readonly Run[],
  live: Conversation,
  earlier: Conversation,
): readonly ShownRun[] {
  const sent = new Map<string, Run>();
  const waiting: ShownRun[] = [];
  for (const run of runs) {
    if (run.tool !== tool) continue;
    const key = live.keys.get(run.callId) ?? earlier.keys.get(run.callId);
    if (key === undefined) waiting.push(ofRun(run));
    else sent.set(key, run);
  }
  const onBoard = callsIn(live, tool).map((call) => ofCall(call, sent.get(call.key)));
  const known = new Set(onBoard.map(({ call }) => call.executionId));
  const before = callsIn(earlier, tool)
    .filter(({ executionId }) => !known.has(executionId))
    .map((call) => ofCall(call, sent.get(call.key)));
  return [...before, ...onBoard, ...waiting].reverse().slice(0, MAX_RUNS);
}

/** The arguments of a run for a form. */
export function argumentsOf(run: ShownRun): Fields {
  const given = run.sent ?? run.call.arguments;
  return isFields(given) ? given : {};
}

function callsIn({ items, calls }: Conversation, tool: string): Call[] {
  return items
    .map((item) => (item.type === "call" ? calls.get(item.key) : undefined))
    .filter((call) => call !== undefined && call.tool === tool) as Call[];
}

function ofCall(call: Call, run: Run | undefined): ShownRun {
  return { key: run?.callId ?? call.executionId ?? call.key, call, sent: run?.arguments, problem: "" };
}

/** A run that is not on the board: it is on its way, could not be sent, or ended before the board was read. */
function ofRun({ callId, tool, arguments: sent, problem, outcome }: Run): ShownRun {
  const error = outcome?.error ?? null;
  const hasEnded = outcome !== null && ENDS.has(outcome.status);
  const call = newCall(callId, {
    tool,
    arguments: sent,
    executionId: outcome?.execution_id ?? null,
    ...(hasEnded ? { status: endStatus(outcome.status as CallStatus, error), value: outcome.value, error } : {}),
  });
  return { key: callId, call, sent, problem };
}
