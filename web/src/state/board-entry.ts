/**
 * What the timeline keeps of an event: its place, and a line of text. The whole event is loaded when it is shown.
 *
 * A board may have many thousands of events with large results; what is kept of each is small.
 */
import { TURN_STOPS } from "../api/turn-kinds.ts";
import { type BoardEvent, type Fields, isFields } from "../api/wire.ts";
import { percent } from "../format.ts";
import { texts } from "../texts.ts";
import { excerpt } from "./excerpt.ts";

/** The lanes, from top to bottom. */
export const LANES = ["turns", "calls", "people", "system"] as const;

export type Lane = (typeof LANES)[number];

export type Family = "chat" | "system";

/** The kinds that the server of this version posts, by lane. A kind that is not known is in the lane of the system. */
export const KINDS: Readonly<Record<Lane, readonly string[]>> = {
  turns: ["turn_started", "text", ...TURN_STOPS],
  calls: [
    "tool_started",
    "tool_validating",
    "tool_executing",
    "tool_progress",
    "tool_partial",
    "tool_retrying",
    "tool_result",
  ],
  people: [
    "user_input",
    "human_request",
    "human_answer",
    "wallet_tx_request",
    "wallet_tx_response",
    "user_request",
    "user_response",
  ],
  system: ["system_notice", "system_error", "connection"],
};

/** An event of the board in short. Fields that an event does not have are empty. */
export interface Entry {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: string;
  readonly lane: Lane;
  readonly family: Family;
  /** The tool, or the worker of a request. */
  readonly tool: string;
  /** The execution that the event names. */
  readonly call: string;
  readonly turn: string;
  readonly request: string;
  /** The number of the attempt, if it has one. */
  readonly attempt: number;
  /** Whether it reports a failure. */
  readonly failed: boolean;
  /** The final status of a call. */
  readonly status: string;
  /** The beginning of its content, in one line. */
  readonly text: string;
}

const LONG = 200; // characters of the text
const LANE_OF = new Map(LANES.flatMap((lane) => KINDS[lane].map((kind): [string, Lane] => [kind, lane])));
const CHAT = new Set([...KINDS.turns, "user_input"]);

export function entryOf({ seq = 0, kind, at, data }: BoardEvent): Entry {
  const fields: Fields = isFields(data) ? data : {};
  const lane = LANE_OF.get(kind) ?? "system";
  const status = kind === "tool_result" || kind === "wallet_tx_response" ? name(fields["status"]) : "";
  return {
    seq,
    at: Date.parse(at),
    kind,
    lane,
    family: CHAT.has(kind) || (lane === "calls" && (fields["mode"] ?? "inline") === "inline") ? "chat" : "system",
    tool: name(fields["tool"] ?? fields["request_kind"]),
    call: name(fields["execution_id"]),
    turn: name(fields["turn_id"]),
    request: name(fields["request_id"]),
    attempt: typeof fields["attempt"] === "number" ? fields["attempt"] : 0,
    failed: isFailure(kind, status, fields),
    status,
    text: excerpt(content(kind, fields), LONG),
  };
}

function isFailure(kind: string, status: string, data: Fields): boolean {
  return (
    kind === "system_error" ||
    kind === "turn_failed" ||
    kind === "tool_retrying" ||
    status === "failed" ||
    (kind === "user_response" && isFields(data["error"])) ||
    (kind === "connection" && (data["state"] === "disconnected" || data["state"] === "missing_api_key"))
  );
}

/** What a line about an event says. */
function content(kind: string, data: Fields): unknown {
  const error = data["error"];
  if (isFields(error)) return [error["category"], error["message"]].filter(Boolean).join(": ");
  switch (kind) {
    case "user_input":
    case "text":
      return data["text"] ?? data["delta"] ?? "";
    case "tool_started":
      return data["arguments"] ?? "";
    case "tool_executing":
      return Number(data["attempt"]) > 1 ? texts.attemptOf(String(data["attempt"]), String(data["maximum"])) : "";
    case "tool_progress": {
      const { stage, message, fraction } = data;
      const place = [stage, typeof fraction === "number" ? percent(fraction) : ""].filter(Boolean).join(" ");
      return [place, message].filter(Boolean).join(": ");
    }
    case "tool_partial":
    case "tool_result":
      return data["value"] ?? data["status"] ?? "";
    case "human_request":
    case "user_request":
    case "user_response":
      return data["payload"] ?? "";
    case "human_answer":
      return data["answer"] ?? "";
    case "wallet_tx_request":
      return data["description"] ?? "";
    case "system_notice":
    case "system_error":
      return data["message"] ?? "";
    case "connection":
      return [data["name"], data["state"], data["message"]].filter(Boolean).join(" · ");
    default: {
      const { tool: _tool, execution_id: _execution, call_id: _call, turn_id: _turn, mode: _mode, ...rest } = data;
      return rest;
    }
  }
}

const name = (value: unknown) => (typeof value === "string" ? value : "");
