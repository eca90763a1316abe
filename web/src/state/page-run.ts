/** The execution of a call in this page, as its card shows it. Pure functions. */
import type { Failure } from "../api/wire.ts";
import type { Call, CallStatus } from "./conversation.ts";

/** The purpose of a request that a page answers by executing a tool. */
export const FRONT_END_TOOL = "front_end_tool";

export type PageRunState =
  /** It was found; nothing has been done. */
  | "starting"
  /** Another tab executes it. */
  | "elsewhere"
  | "running"
  /** An attempt failed, and another follows. */
  | "retrying"
  /** It may have run before, and the person decides whether it runs again. */
  | "asking"
  /** The browser requires a click: to copy, or to notify. */
  | "copy"
  | "notify"
  /** It has ended, and its outcome is sent to the server. */
  | "sending"
  /** The server has its outcome. */
  | "sent"
  /** This page does not have the tool. */
  | "missing";

export interface PageRun {
  readonly requestId: string;
  readonly tool: string;
  readonly state: PageRunState;
  readonly attempt: number;
  readonly maximum: number;
  /** The errors of attempts that were followed by another. */
  readonly errors: readonly Failure[];
}

/** What a person decides on the card. */
export type PageRunChoice = "run" | "give-up" | "allow" | "refuse";

const STATUS: Partial<Record<PageRunState, CallStatus>> = {
  retrying: "retrying",
  asking: "waiting",
  copy: "waiting",
  notify: "waiting",
};
const ASKS: ReadonlySet<PageRunState> = new Set(["asking", "copy", "notify", "missing"]);

/** Whether a call is executed by a page. */
export function isInBrowser({ request, history }: Pick<Call, "request" | "history">): boolean {
  return request?.purpose === FRONT_END_TOOL || history.purpose === FRONT_END_TOOL;
}

/** Whether a call with an open request waits for the person, and not for the page. */
export function needsPerson({ request }: Call, run: PageRun | undefined): boolean {
  if (request?.purpose !== FRONT_END_TOOL) return request !== null;
  return run !== undefined && ASKS.has(run.state);
}

/** A call with what this page knows of its execution. */
export function withRun(call: Call, run: PageRun | undefined): Call {
  if (run === undefined || run.state === "missing") return call;
  const { attempt, maximum, errors: previousErrors } = run;
  const known = attempt > 0 ? { attempt, maximum, previousErrors } : {};
  return call.request === null
    ? { ...call, ...known }
    : { ...call, ...known, status: STATUS[run.state] ?? "executing" };
}
