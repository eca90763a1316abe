import { parseJson } from "./exact-integer.ts";
import { type DecisionInfo, isFields } from "./wire.ts";

/** A violation at a path of a request's body. */
export interface Violation {
  readonly path?: string;
  readonly pointer?: string;
  readonly message?: string;
  readonly detail?: string;
}

/** An error response of the server, which is a problem document (RFC 9457). */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly errors: readonly Violation[];
  /** The decision that closed a request before this answer, if the server tells it. */
  readonly decision: DecisionInfo | null;

  constructor(
    status: number,
    code: string,
    message: string,
    errors: readonly Violation[] = [],
    decision: DecisionInfo | null = null,
  ) {
    super(message);
    this.name = "Problem";
    this.status = status;
    this.code = code;
    this.errors = errors;
    this.decision = decision;
  }

  /** Read the problem of a response. A response of a proxy may not be JSON. */
  static async of(response: Response): Promise<Problem> {
    const read: unknown = await response
      .text()
      .then(parseJson)
      .catch(() => null);
    const document = isFields(read) ? read : {};
    const message = document["detail"] || document["title"] || `The server responded with ${response.status}.`;
    const errors = Array.isArray(document["errors"]) ? (document["errors"] as Violation[]) : [];
    const decision = isFields(document["decision"]) ? (document["decision"] as unknown as DecisionInfo) : null;
    return new Problem(response.status, String(document["code"] ?? ""), String(message), errors, decision);
  }
}

/** The text of an error for people: what is wrong at which field, or its message. */
export function explain(error: unknown): string {
  if (error instanceof Problem && error.errors.length > 0) {
    return error.errors
      .map((each) => `${each.path || each.pointer || "answer"}: ${each.message ?? each.detail ?? ""}`)
      .join(" ");
  }
  return error instanceof Error ? error.message : String(error);
}
