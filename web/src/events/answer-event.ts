import type { OpenRequest } from "../state/conversation.ts";

/** The person answers a request. */
export class AnswerEvent extends Event {
  static readonly type = "callboard-answer";
  readonly request: OpenRequest;
  readonly answer: unknown;

  constructor(request: OpenRequest, answer: unknown) {
    super(AnswerEvent.type, { bubbles: true, composed: true });
    this.request = request;
    this.answer = answer;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-answer": AnswerEvent;
  }
}
