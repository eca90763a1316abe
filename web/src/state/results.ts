/** Results of calls as the transcript has them. Pure functions. */
import { parseJson } from "../api/exact-integer.ts";
import type { Failure } from "../api/wire.ts";
import type { CallStatus } from "./conversation.ts";

/** Ends of a call that depend on a person and are not failures. */
const DECIDED = new Set(["rejected", "expired"]);

/** The final status of a call for people. */
export function endStatus(status: CallStatus, error: Failure | null): CallStatus {
  const decision = error?.details?.decision;
  return status === "failed" && decision !== undefined && DECIDED.has(decision) ? (decision as CallStatus) : status;
}

/** Parse a result, which is text or JSON. Older conversations have quoted texts. */
export function parseResult(content: unknown): unknown {
  if (typeof content !== "string" || !/^\s*[[{"]/.test(content)) return content;
  try {
    return parseJson(content);
  } catch {
    return content;
  }
}
