/** The answers to requests that the person sends, and what the server says to them. */
import type { ApiClient } from "../api/api-client.ts";
import { newId } from "../api/ids.ts";
import { explain, Problem } from "../api/problem.ts";
import type { DecisionInfo } from "../api/wire.ts";
import { timeOf } from "../format.ts";
import { texts } from "../texts.ts";
import { answeredHere, whoDecided } from "./answered-here.ts";
import type { OpenRequest } from "./conversation.ts";
import type { Repeater } from "./repeater.ts";

/** The answer to a request that is being sent, or that the server refused. */
export interface AnswerState {
  readonly isBusy: boolean;
  readonly problem: string;
  /** Why the answer was not used: another one was first. */
  readonly notUsed?: string;
}

/** What the answers need of their owner. */
export interface AnswersPort {
  readonly api: ApiClient;
  readonly repeater: Repeater;
  readonly sessionId: string;
  /** A state has changed. */
  onChange(): void;
  /** The request was closed before the answer arrived. */
  onClosed(requestId: string, decision: DecisionInfo | null, said: string): void;
}

export class RequestAnswers {
  states: ReadonlyMap<string, AnswerState> = new Map();
  readonly #port: AnswersPort;
  readonly #keys = new Map<string, { body: string; key: string }>(); // the idempotency keys of answers

  constructor(port: AnswersPort) {
    this.#port = port;
  }

  clear(): void {
    this.states = new Map();
  }

  /** The board has an answer to a request: it need not be sent again. */
  arrived(id: string): void {
    this.#keys.delete(id);
  }

  /**
   * Answer a request as the person has seen it. It is repeated until the server responds, with the same key, because the
   * first may have arrived.
   */
  async send({ id, argumentsHash }: OpenRequest, answer: unknown): Promise<void> {
    const { api, repeater, sessionId } = this.#port;
    const hash = argumentsHash === null ? {} : { arguments_hash: argumentsHash };
    const body = { session_id: sessionId, answer, ...hash };
    const encoded = JSON.stringify(body);
    if (this.#keys.get(id)?.body !== encoded) this.#keys.set(id, { body: encoded, key: newId() });
    const key = this.#keys.get(id)?.key ?? newId();
    this.#set(id, { isBusy: true, problem: "" });
    const wasKnown = answeredHere.has(id); // in another tab
    answeredHere.add(id); // before its event arrives
    try {
      const path = `/api/requests/${encodeURIComponent(id)}/answer`;
      await repeater.send((signal) => api.post(path, body, { key, signal }), {
        isWanted: () => sessionId === this.#port.sessionId && this.#keys.get(id)?.key === key,
        onFailure: () => this.#set(id, { isBusy: true, problem: texts.slowAnswer }),
      });
      this.#keys.delete(id);
      this.#set(id, { isBusy: false, problem: "" });
    } catch (error) {
      if (error instanceof Problem && !wasKnown) answeredHere.remove(id);
      const isClosed = error instanceof Problem && (error.status === 404 || error.code === "request_closed");
      if (isClosed) this.#close(id, error.decision);
      else this.#set(id, { isBusy: false, problem: explain(error) });
    }
  }

  #close(id: string, decision: DecisionInfo | null): void {
    const said = decision === null ? texts.decidedElsewhere : decidedFirst(id, decision);
    this.#set(id, { isBusy: false, problem: "", ...(decision === null ? {} : { notUsed: said }) });
    this.#port.onClosed(id, decision, said);
  }

  #set(id: string, state: AnswerState): void {
    this.states = new Map([...this.states, [id, state]]);
    this.#port.onChange();
  }
}

/** What was decided before an answer, by whom and when, in a sentence. */
function decidedFirst(requestId: string, { outcome, answered_by: by = null, at }: DecisionInfo): string {
  const isByPerson = outcome !== "expired" && outcome !== "withdrawn";
  const what = texts.outcome[outcome] + (isByPerson ? ` ${whoDecided({ requestId, by })}` : "");
  return texts.decidedFirst(what, at ? timeOf(at) : "");
}
