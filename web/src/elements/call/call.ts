import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isFields, type Failure, type ToolInfo } from "../../api/wire.ts";
import { CancelCallEvent } from "../../events/cancel-call-event.ts";
import { RequestClosedEvent } from "../../events/request-closed-event.ts";
import { duration, short, title } from "../../format.ts";
import type { Call, CallStatus } from "../../state/conversation.ts";
import { decisionOf, type History, secondsOf, timeSplit } from "../../state/history.ts";
import { openChoices } from "../../state/open-choices.ts";
import type { AnswerState } from "../../state/session-controller.ts";
import { texts } from "../../texts.ts";
import "../decision/decision.ts";
import { Part } from "../part/part.ts";
import "../request/request.ts";
import type { RequestElement } from "../request/request.ts";
import { facts } from "../value/value.ts";

const ENDED: ReadonlySet<CallStatus> = new Set(["succeeded", "failed", "cancelled", "rejected", "expired"]);
const RUNNING: ReadonlySet<CallStatus> = new Set(["pending", "validating", "executing", "retrying"]);
/** Ends that depend on a person, and are neither timed nor failures. */
const NEUTRAL: ReadonlySet<CallStatus> = new Set(["rejected", "expired"]);

/**
 * The card of a call: its tool, arguments, progress and result, and its request to the person.
 *
 * @fires callboard-cancel-call - The person cancels the call.
 * @fires callboard-answer - The person answers its request.
 * @fires callboard-request-closed - Its request was closed while it had the focus.
 */
export class CallElement extends Part {
  static override properties = {
    call: { attribute: false },
    info: { attribute: false },
    answer: { attribute: false },
    isCancelling: { attribute: false },
  };
  declare call: Call;
  /** The manifest's entry of its tool. */
  declare info: ToolInfo | undefined;
  declare answer: AnswerState | undefined;
  declare isCancelling: boolean;

  /** The request of the call, if it is open. */
  get request(): RequestElement | null {
    return this.querySelector("callboard-request");
  }

  override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get("call");
    if (before?.request && this.call.request === null && this.request?.hasFocus) {
      void this.updateComplete.then(() => this.dispatchEvent(new RequestClosedEvent()));
    }
  }

  override render(): TemplateResult {
    const { call } = this;
    const isEnded = ENDED.has(call.status);
    const decision = decisionOf(call.history);
    return html`<article class="card" data-status=${call.status} data-execution=${call.executionId ?? nothing} aria-label=${texts.callOf(call.tool)}>
      <header>
        <strong title=${this.info?.description ?? nothing}>${call.tool}</strong>
        <span class="status">${this.#status()}</span>
        ${isEnded || call.executionId === null ? nothing : this.#cancel(call.executionId)}
      </header>
      ${this.#details(isEnded)} ${isEnded ? nothing : this.#progress()} ${this.#errors()}
      ${decision === null ? nothing : html`<callboard-decision .decision=${decision}></callboard-decision>`}
      ${
        call.request === null
          ? nothing
          : html`<callboard-request .request=${call.request} .tool=${call.tool} .info=${this.info} .answer=${this.answer}></callboard-request>`
      }
      ${isEnded ? this.#result() : nothing}
    </article>`;
  }

  #status(): string {
    const { status, attempt, maximum, history } = this.call;
    const attempts = attempt > 1 || this.#failures.length > 0 ? texts.attempt(attempt, maximum) : "";
    const seconds = ENDED.has(status) && !NEUTRAL.has(status) ? secondsOf(history) : null;
    return (texts.status[status] ?? status) + attempts + (seconds === null ? "" : texts.spent(duration(seconds)));
  }

  #cancel(executionId: string) {
    return html`<button type="button" class="quiet" aria-label=${texts.cancelCall(this.call.tool)} ?disabled=${this.isCancelling}
      @click=${() => this.dispatchEvent(new CancelCallEvent(executionId))}>${texts.cancel}</button>`;
  }

  /** Arguments, partial results and times. They are folded away when the call has ended well, unless the reader chose. */
  #details(isEnded: boolean) {
    const { key, executionId, history } = this.call;
    const given = this.call.arguments;
    const id = executionId ?? key;
    const isOpen = openChoices.get(id) ?? !(isEnded && this.call.status !== "failed");
    const hasArguments = isFields(given) && Object.keys(given).length > 0;
    if (!hasArguments && history.partialCount === 0 && !isEnded) return nothing;
    return html`<details class="details" ?open=${isOpen} @click=${(event: Event) => this.#choose(event, id)}>
      <summary>${texts.details}</summary>
      ${hasArguments ? facts(given) : nothing} ${this.#partials(history)} ${isEnded ? this.#times(history) : nothing}
    </details>`;
  }

  /** Remember that the reader opened or closed the details. */
  #choose(event: Event, id: string): void {
    const summary = (event.target as Element).closest("summary");
    const details = event.currentTarget as HTMLDetailsElement;
    if (summary?.parentElement === details) openChoices.set(id, !details.open);
  }

  #partials({ partials, partialCount }: History) {
    if (partialCount === 0) return nothing;
    const hidden = partialCount - partials.length;
    return html`<ul class="partials">
      ${hidden > 0 ? html`<li>${texts.earlierPartials(hidden)}</li>` : nothing}
      ${partials.map((value) => html`<li>${short(value)}</li>`)}
    </ul>`;
  }

  #times(history: History) {
    const split = timeSplit(history);
    if (split === null) return nothing;
    const parts: [string, number][] = [
      [texts.queued, split.queue],
      [texts.waitedForPerson, split.person],
      [texts.worked, split.work],
    ];
    return html`<dl class="facts times">
      ${parts.filter(([, seconds]) => seconds > 0).map(([name, seconds]) => html`<dt>${name}</dt><dd>${duration(seconds)}</dd>`)}
    </dl>`;
  }

  #progress() {
    const { status, history, tool } = this.call;
    const { progress, retryIn } = history;
    const fraction = progress?.fraction ?? null;
    const percent = fraction === null ? "" : ` ${Math.floor(fraction * 100)}%`;
    const stage = progress?.stage
      ? `${title(progress.stage)}${percent}${progress.message ? `: ${progress.message}` : ""}`
      : "";
    const line = status === "retrying" && retryIn ? texts.nextAttempt(duration(retryIn)) : stage;
    return html`${RUNNING.has(status) ? html`<progress max="1" value=${fraction ?? nothing} aria-label=${texts.progressOf(tool)}></progress>` : nothing}
    ${line === "" ? nothing : html`<p class="stage">${line}</p>`}`;
  }

  get #failures(): readonly Failure[] {
    const { history, previousErrors } = this.call;
    return history.errors.length > 0 ? history.errors : previousErrors;
  }

  #errors() {
    if (this.#failures.length === 0) return nothing;
    return html`<ul class="retry-errors">${this.#failures.map((error) => html`<li>${error.category}: ${error.message}</li>`)}</ul>`;
  }

  #result() {
    const { status, error, value } = this.call;
    if (error !== null && status !== "succeeded") {
      return html`<div class="result"><p class=${NEUTRAL.has(status) ? "value" : "failure"}>${error.message ?? String(error)}</p></div>`;
    }
    if (value === undefined || value === null) return nothing;
    return html`<div class="result"><callboard-value .value=${value}></callboard-value></div>`;
  }
}

customElements.define("callboard-call", CallElement);
