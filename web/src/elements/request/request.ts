import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import type { Schema, ToolInfo } from "../../api/wire.ts";
import { AnswerEvent } from "../../events/answer-event.ts";
import type { OpenRequest } from "../../state/conversation.ts";
import { differences } from "../../state/history.ts";
import { fieldsOf } from "../../state/schema.ts";
import type { AnswerState } from "../../state/session-controller.ts";
import { texts } from "../../texts.ts";
import { differenceList } from "../decision/decision.ts";
import "../form/form.ts";
import type { FormElement } from "../form/form.ts";
import { Part } from "../part/part.ts";
import "../countdown/countdown.ts";

type Mode = "choices" | "edit" | "reject";

const REASON: Schema = { type: "object", properties: { reason: { type: "string", description: texts.reasonHint } } };

/**
 * A request to the person: an approval, or a question with a form.
 *
 * There is one primary button at any time, and it sends what is visible: while arguments are edited, the original ones
 * cannot be approved.
 *
 * @fires callboard-answer - The person answers.
 */
export class RequestElement extends Part {
  static override properties = {
    request: { attribute: false },
    tool: { attribute: false },
    info: { attribute: false },
    answer: { attribute: false },
    mode: { state: true },
    asJson: { state: true },
    problem: { state: true },
    changes: { state: true },
  };
  declare request: OpenRequest;
  /** The name of the tool that asks. */
  declare tool: string;
  declare info: ToolInfo | undefined;
  /** The answer that is being sent, or that was refused. */
  declare answer: AnswerState | undefined;
  declare mode: Mode;
  declare asJson: boolean;
  declare problem: string;
  declare changes: ReturnType<typeof differences>;
  #opener: Mode = "choices";
  #lost: HTMLElement | null = null;

  constructor() {
    super();
    this.mode = "choices";
    this.asJson = false;
    this.problem = "";
    this.changes = [];
  }

  /** Focus the first control. */
  override focus(): void {
    this.querySelector<HTMLElement>("button, input, select, textarea")?.focus({ preventScroll: true });
  }

  /** Whether the focus is here, or was before the buttons were disabled. */
  get hasFocus(): boolean {
    return this.focused !== null || this.#lost !== null;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("answer")) return;
    this.problem = this.answer?.problem ?? "";
    if (this.answer?.isBusy) this.#lost = this.focused; // a disabled button loses the focus
  }

  override updated(changed: PropertyValues<this>): void {
    if (changed.has("mode") && changed.get("mode") !== undefined) this.#moveFocus();
    if (!changed.has("answer") || this.answer?.isBusy) return;
    if (this.#lost?.isConnected) this.#lost.focus({ preventScroll: true });
    this.#lost = null;
  }

  override render(): TemplateResult {
    return html`<div class="request">
        ${this.request.purpose === "approval" ? this.#approval() : this.#question()}
        ${this.request.expiresAt === null ? nothing : html`<callboard-countdown .until=${this.request.expiresAt}></callboard-countdown>`}
      </div>
      <p class="notice error" role="alert" ?hidden=${this.problem === ""}>${this.problem}</p>`;
  }

  #approval() {
    if (this.mode === "reject") {
      return this.#form(texts.whyReject, REASON, {}, texts.reject, "stop", (given) => ({
        approved: false,
        ...(given as object),
      }));
    }
    if (this.mode === "edit") {
      const { payload } = this.request;
      const schema = this.info?.input_schema ?? {};
      return this.#form(texts.editArguments, schema, payload, texts.approveThese, "yes", (given) => ({
        approved: true,
        arguments: given,
      }));
    }
    const isBusy = this.answer?.isBusy ?? false;
    return html`<p class="question">${texts.allowCall}</p>
      <div class="choices" role="group" aria-label=${texts.answerTo(this.tool)}>
        <button type="button" class="yes" ?disabled=${isBusy} @click=${() => this.#send({ approved: true })}>${texts.approve}</button>
        <button type="button" class="stop" data-mode="reject" ?disabled=${isBusy} @click=${() => this.#switch("reject")}>${texts.rejectMore}</button>
        <button type="button" class="quiet" data-mode="edit" ?disabled=${isBusy} @click=${() => this.#switch("edit")}>${texts.editMore}</button>
      </div>`;
  }

  #question() {
    return this.#form(texts.whatAnswer, this.request.schema, undefined, texts.answer, "send", (given) => given);
  }

  #form(
    prompt: string,
    schema: Schema,
    value: unknown,
    label: string,
    kind: string,
    answer: (given: unknown) => unknown,
  ) {
    const isBusy = this.answer?.isBusy ?? false;
    const isEdit = this.mode === "edit";
    const hasFields = isEdit && fieldsOf(schema) !== null;
    return html`<p class="question">${prompt}</p>
      <form @submit=${(event: Event) => this.#submit(event, answer)} @keydown=${this.#onKey} @input=${() => this.#compare(value)}>
        <callboard-form
          .schema=${schema}
          .value=${value}
          .asJson=${live(isEdit && this.asJson)}
          .label=${isEdit ? texts.argumentsJson : texts.answerJson}
        ></callboard-form>
        ${
          isEdit && this.changes.length > 0
            ? html`<div class="preview" aria-live="polite"><p class="hint">${texts.willChange}</p>${differenceList(this.changes)}</div>`
            : nothing
        }
        <button type="submit" class=${kind} ?disabled=${isBusy}>${label}</button>
        ${this.mode === "choices" ? nothing : html`<button type="button" class="quiet" ?disabled=${isBusy} @click=${this.#back}>${texts.back}</button>`}
        ${hasFields ? html`<button type="button" class="quiet" @click=${this.#toggleJson}>${this.asJson ? texts.asForm : texts.asJson}</button>` : nothing}
      </form>`;
  }

  #switch(mode: Mode): void {
    this.#opener = mode;
    this.mode = mode;
    this.problem = "";
    this.changes = [];
    this.asJson = false;
  }

  readonly #back = () => {
    const from = this.mode;
    this.#switch("choices");
    this.#opener = from;
  };

  /** Show the other view of the arguments, with the values that were entered. */
  readonly #toggleJson = async () => {
    this.asJson = !this.asJson;
    await this.updateComplete;
    this.#moveFocus();
  };

  #moveFocus(): void {
    if (this.mode === "choices") this.querySelector<HTMLElement>(`[data-mode="${this.#opener}"]`)?.focus();
    else void this.#formElement?.updateComplete.then(() => this.#formElement?.focus());
  }

  #compare(before: unknown): void {
    if (this.mode !== "edit") return;
    try {
      this.changes = differences(before, this.#formElement?.read());
    } catch {
      // incomplete JSON
    }
  }

  #submit(event: Event, answer: (given: unknown) => unknown): void {
    event.preventDefault();
    try {
      this.#send(answer(this.#formElement?.read()));
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
  }

  #send(answer: unknown): void {
    this.dispatchEvent(new AnswerEvent(this.request, answer));
  }

  readonly #onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || this.mode === "choices") return;
    event.stopPropagation();
    this.#back();
  };

  get #formElement(): FormElement | null {
    return this.querySelector("callboard-form");
  }
}

customElements.define("callboard-request", RequestElement);
