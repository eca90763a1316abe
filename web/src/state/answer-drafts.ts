/** Answers to requests that are being written. They last as long as the tab, also over a reload. */
import { parseJson } from "../api/exact-integer.ts";
import { isFields } from "../api/wire.ts";
import { browserStorage, type TextStorage } from "./storage.ts";

const PREFIX = "callboard.answer.";
const MAX_LENGTH = 100_000; // characters of a draft that is kept

/** How the person answers: by choosing, by editing the arguments, or by rejecting with a reason. */
export type AnswerMode = "choices" | "edit" | "reject";

export interface AnswerDraft {
  readonly mode: AnswerMode;
  /** Whether the value is written as JSON. */
  readonly asJson: boolean;
  readonly value?: unknown;
  /** The text of JSON that is not complete yet, instead of a value. */
  readonly text?: string;
}

const MODES: readonly unknown[] = ["choices", "edit", "reject"];

export class AnswerDrafts {
  readonly #storage: TextStorage;

  constructor(storage: TextStorage = browserStorage("sessionStorage")) {
    this.#storage = storage;
  }

  get(requestId: string): AnswerDraft | null {
    try {
      const found = parseJson(this.#storage.get(PREFIX + requestId) ?? "null");
      return isFields(found) && MODES.includes(found["mode"]) ? (found as unknown as AnswerDraft) : null;
    } catch {
      return null;
    }
  }

  /** Keep a draft, or forget it (null). A very long one is not kept. */
  set(requestId: string, draft: AnswerDraft | null): void {
    const encoded = draft === null ? null : JSON.stringify(draft);
    this.#storage.set(PREFIX + requestId, encoded !== null && encoded.length > MAX_LENGTH ? null : encoded);
  }
}

export const answerDrafts = new AnswerDrafts();
