import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isRounded } from "../../api/exact-integer.ts";
import type { Schema, ToolInfo } from "../../api/wire.ts";
import { AnswerEvent } from "../../events/answer-event.ts";
import { title } from "../../format.ts";
import { type AnswerMode, answerDrafts } from "../../state/answer-drafts.ts";
import type { OpenRequest } from "../../state/conversation.ts";
import { type Decision, differences } from "../../state/history.ts";
import { fieldsOf, unsuitable, withDefaults } from "../../state/schema.ts";
import type { AnswerState } from "../../state/request-answers.ts";
import { texts } from "../../texts.ts";
import "../countdown/countdown.ts";
import { differenceList } from "../decision/decision.ts";
import "../form/form.ts";
import type { FormElement } from "../form/form.ts";
import { Part } from "../part/part.ts";

let reason: Schema | null = null;

/** The schema of a reason. It is made when it is needed, after the texts may have been translated. */
const reasonSchema = (): Schema =>
  (reason ??= { type: "object", properties: { reason: { type: "string", description: texts.reasonHint } } });

/**
 * A request to the person: an approval, or a question with a form.
 *
 * There is one primary button at any time, and it sends what is visible: while arguments are edited, the original ones
 * cannot be approved. What the person has entered survives a reload, and a switch between the form and JSON.
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
    isPlain: { state: true },
  };
  declare request: OpenRequest;
  /** The title of the tool that asks. */
  declare tool: string;
  declare info: ToolInfo | undefined;
  /** The answer that is being sent, or that was refused. */
  declare answer: AnswerState | undefined;
  declare mode: AnswerMode;
  declare asJson: boolean;
  declare problem: string;
  /** What the person has changed. Null while the JSON is incomplete. */
  declare changes: Decision["changes"] | null;
  /** Whether the element for wallets could not be loaded. */
  declare isPlain: boolean;
  /** The value with which the form starts, and the text of incomplete JSON. Undefined for those of the request. */
  #entered: { readonly value?: unknown; readonly text?: string } | undefined;
  #opener: AnswerMode = "choices";
  #lost: HTMLElement | null = null;

  constructor() {
    super();
    this.mode = "choices";
    this.asJson = false;
    this.problem = "";
    this.changes = [];
    this.isPlain = false;
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
    const isOther = changed.has("request") && changed.get("request")?.id !== this.request.id;
    const isCompleted = changed.has("request") && changed.get("request")?.isCut === true;
    if (isOther || isCompleted) this.#restore();
    if (this.mode === "edit" && (isOther || isCompleted || changed.has("info"))) this.#compareDraft();
    if (!changed.has("answer")) return;
    this.problem = this.answer?.problem ?? "";
    if (this.answer?.isBusy) this.#lost = this.focused; // a disabled button loses the focus
  }

  override updated(changed: PropertyValues<this>): void {
    if (changed.has("mode") && changed.get("mode") !== undefined && this.#opener !== "choices") this.#moveFocus();
    if (!changed.has("answer") || this.answer?.isBusy) return;
    if (this.#lost?.isConnected) this.#lost.focus({ preventScroll: true });
    this.#lost = null;
  }

  override render(): TemplateResult {
    return html`<div class="request">
        ${this.request.isCut ? this.#loading() : this.#content()}
        ${this.request.expiresAt === null ? nothing : html`<callboard-countdown .until=${this.request.expiresAt}></callboard-countdown>`}
      </div>
      <p class="notice error" role="alert" ?hidden=${this.problem === ""}>${this.problem}</p>`;
  }

  #content() {
    const { purpose } = this.request;
    return purpose === "approval" ? this.#approval() : purpose === "wallet" ? this.#wallet() : this.#question();
  }

  /** A request of which only a part is loaded is not answered: the person has not seen the rest. */
  #loading() {
    return html`<p class="hint" role="status">${texts.loadingRequest}</p>
      ${this.request.purpose === "approval" ? this.#choices(true) : nothing}`;
  }

  #approval() {
    if (this.mode === "reject") {
      return this.#form(texts.whyReject, reasonSchema(), {}, texts.reject, "stop", (given) => ({
        approved: false,
        ...(given as object),
      }));
    }
    if (this.mode === "edit") {
      const { payload } = this.request;
      return this.#form(texts.editArguments, this.#schema, payload, texts.approveThese, "yes", (given) =>
        this.#compare(given).length > 0 ? { approved: true, arguments: given } : { approved: true },
      );
    }
    return html`<p class="question">${texts.allowCall}</p>
      ${this.#choices(this.answer?.isBusy ?? false)}`;
  }

  #choices(isBusy: boolean) {
    return html`<div class="choices" role="group" aria-label=${texts.answerTo(this.tool)}>
        <button type="button" class="yes" ?disabled=${isBusy} @click=${() => this.#send({ approved: true })}>${texts.approve}</button>
        <button type="button" class="stop" data-mode="reject" ?disabled=${isBusy} @click=${() => this.#switch("reject")}>${texts.rejectMore}</button>
        ${this.#isRounded ? nothing : html`<button type="button" class="quiet" data-mode="edit" ?disabled=${isBusy} @click=${() => this.#switch("edit")}>${texts.editMore}</button>`}
      </div>
      ${this.#isRounded ? html`<p class="hint">${texts.roundedNumbers}</p>` : nothing}`;
  }

  /** A wallet signs. Its element is loaded when it is needed; without it, the person answers in a form. */
  #wallet() {
    if (this.isPlain) return this.#question();
    void import("../wallet-request/wallet-request.ts").catch(() => (this.isPlain = true));
    return html`<callboard-wallet-request .request=${this.request} .answer=${this.answer}></callboard-wallet-request>`;
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
    const entered = this.#entered;
    return html`<p class="question">${prompt}</p>
      <form @submit=${(event: Event) => this.#submit(event, answer)} @keydown=${this.#onKey} @input=${this.#onInput}>
        <callboard-form
          .schema=${schema}
          .value=${entered === undefined ? value : entered.value}
          .text=${entered?.text}
          .asJson=${isEdit && this.asJson}
          .label=${isEdit ? texts.argumentsJson : texts.answerJson}
        ></callboard-form>
        ${isEdit ? this.#preview() : nothing}
        <div class="choices">
          <button type="submit" class=${kind} ?disabled=${isBusy}>${label}</button>
          ${this.mode === "choices" ? nothing : html`<button type="button" class="quiet" ?disabled=${isBusy} @click=${this.#back}>${texts.back}</button>`}
          ${
            isEdit && fieldsOf(schema) !== null
              ? html`<button type="button" class="quiet" ?disabled=${isBusy} @click=${this.#toggleJson}>${this.asJson ? texts.asForm : texts.asJson}</button>`
              : nothing
          }
        </div>
      </form>`;
  }

  /** What the answer would change, before it is sent. */
  #preview() {
    if (this.changes === null) return html`<p class="hint" role="status">${texts.incompleteJson}</p>`;
    if (this.changes.length === 0) return html`<p class="hint">${texts.noChanges}</p>`;
    return html`<div class="preview" role="status"><p class="hint">${texts.willChange}</p>${differenceList(this.changes)}</div>`;
  }

  /** Whether the browser has rounded a number of the arguments, which an edit would change. */
  get #isRounded(): boolean {
    return isRounded(this.request.payload);
  }

  get #schema(): Schema {
    return this.info?.input_schema ?? {};
  }

  #switch(mode: AnswerMode): void {
    const { payload } = this.request;
    this.#opener = mode;
    this.#entered = undefined;
    this.mode = mode;
    this.problem = "";
    this.changes = [];
    this.asJson = mode === "edit" && unsuitable(fieldsOf(this.#schema) ?? [], payload)?.length !== 0;
    answerDrafts.set(this.request.id, mode === "choices" ? null : { mode, asJson: this.asJson, value: payload });
  }

  readonly #back = () => {
    const from = this.mode;
    this.#switch("choices");
    this.#opener = from;
  };

  /** Continue where the person was before a reload. */
  #restore(): void {
    const draft = answerDrafts.get(this.request.id);
    const isApproval = this.request.purpose === "approval";
    this.mode = draft !== null && isApproval ? draft.mode : "choices";
    this.asJson = draft?.asJson ?? false;
    this.#opener = "choices";
    this.#entered = draft === null || (isApproval && draft.mode === "choices") ? undefined : draft;
  }

  /** Compare what was entered with the request again: the tool's schema may have come later. */
  #compareDraft(): void {
    const draft = answerDrafts.get(this.request.id);
    if (draft?.text !== undefined) this.changes = null;
    else if (draft !== null) this.changes = this.#compare(draft.value);
  }

  /** Show the other view of the arguments, with the values that were entered. What it cannot show is refused. */
  readonly #toggleJson = async () => {
    const form = this.#formElement;
    if (form === null) return;
    try {
      const value = form.read();
      if (this.asJson) this.#checkForm(value);
      this.#entered = { value };
      this.asJson = !this.asJson;
      this.problem = "";
      answerDrafts.set(this.request.id, { mode: this.mode, asJson: this.asJson, value });
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      return;
    }
    await this.updateComplete;
    this.#moveFocus();
  };

  /** Raise an error if the form would change or lose a part of a value. */
  #checkForm(value: unknown): void {
    const left = unsuitable(fieldsOf(this.#schema) ?? [], value);
    if (left === null) throw new Error(texts.notAnObject);
    if (left.length > 0) throw new Error(texts.notInForm(left.map((name) => `“${title(name)}”`).join(", ")));
  }

  #moveFocus(): void {
    if (this.mode === "choices") this.querySelector<HTMLElement>(`[data-mode="${this.#opener}"]`)?.focus();
    else void this.#formElement?.updateComplete.then(() => this.#formElement?.focus());
  }

  /** Keep what was entered, and compare it with the request. */
  readonly #onInput = () => {
    const form = this.#formElement;
    if (form === null) return;
    const { mode, asJson } = this;
    const entered = form.entered();
    this.changes = "value" in entered ? (mode === "edit" ? this.#compare(entered.value) : []) : null;
    if ("value" in entered || "text" in entered) answerDrafts.set(this.request.id, { mode, asJson, ...entered });
  };

  #compare(value: unknown): Decision["changes"] {
    const fields = fieldsOf(this.#schema) ?? [];
    return differences(withDefaults(fields, this.request.payload), withDefaults(fields, value));
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
