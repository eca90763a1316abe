import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isFields, type Failure, type ToolInfo } from "../../api/wire.ts";
import { CancelCallEvent } from "../../events/cancel-call-event.ts";
import { RequestClosedEvent } from "../../events/request-closed-event.ts";
import { duration, percent, short, timeOf, title } from "../../format.ts";
import { answerDrafts } from "../../state/answer-drafts.ts";
import { type Call, type CallStatus, isLive, type OpenRequest, stableId } from "../../state/conversation.ts";
import { attemptsOf, decisionOf, type History, secondsOf, timeSplit } from "../../state/history.ts";
import { fieldsOf, withDefaults } from "../../state/schema.ts";
import { openChoices } from "../../state/open-choices.ts";
import { FRONT_END_TOOL, isInBrowser, type PageRun } from "../../state/page-run.ts";
import type { AnswerState } from "../../state/request-answers.ts";
import { texts } from "../../texts.ts";
import "../copy-link/copy-link.ts";
import "../decision/decision.ts";
import type { PageRunElement } from "../page-run/page-run.ts";
import { Part } from "../part/part.ts";
import "../request/request.ts";
import type { RequestElement } from "../request/request.ts";
import { facts } from "../value/value.ts";

const RUNNING: ReadonlySet<CallStatus> = new Set(["pending", "validating", "executing", "retrying"]);
/** Ends that depend on a person: neither is a failure, and the call did no work. */
const UNDONE: ReadonlySet<CallStatus> = new Set(["rejected", "expired"]);
/** Ends that are no failures. */
const NEUTRAL: ReadonlySet<CallStatus> = new Set([...UNDONE, "cancelled"]);

/**
 * The card of a call: its tool, arguments, progress and result, and its request to the person.
 *
 * @fires callboard-cancel-call - The person cancels the call.
 * @fires callboard-answer - The person answers its request.
 * @fires callboard-page-run - The person decides about a call that this page executes.
 * @fires callboard-request-closed - Its request was closed while it had the focus.
 */
export class CallElement extends Part {
  static override properties = {
    call: { attribute: false },
    info: { attribute: false },
    answer: { attribute: false },
    isCancelling: { attribute: false },
    run: { attribute: false },
  };
  declare call: Call;
  /** The manifest's entry of its tool. */
  declare info: ToolInfo | undefined;
  declare answer: AnswerState | undefined;
  declare isCancelling: boolean;
  /** What this page does with the call, if it is one of its own tools. */
  declare run: PageRun | undefined;

  /** The question of the card to the person, if there is one. */
  get request(): RequestElement | PageRunElement | null {
    return this.querySelector<RequestElement | PageRunElement>("callboard-request, callboard-page-run:has(button)");
  }

  override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get("call");
    if (!before?.request || this.call.request !== null) return;
    answerDrafts.set(before.request.id, null);
    if (this.request?.hasFocus) void this.updateComplete.then(() => this.dispatchEvent(new RequestClosedEvent()));
  }

  override render(): TemplateResult {
    const { call } = this;
    const isEnded = !isLive(call);
    const decision = decisionOf(call.history, (given) => this.#asRead(given));
    return html`<article class="card" data-tool=${call.tool} data-status=${call.status}
      data-execution=${call.executionId ?? nothing} aria-label=${texts.callOf(this.#title)}>
      <header>
        <strong dir="auto">${this.#title}</strong>
        ${this.#title.toLowerCase() === call.tool ? nothing : html`<code class="tool" dir="ltr">${call.tool}</code>`}
        ${isInBrowser(call) ? html`<span class="place">${texts.inBrowser}</span>` : nothing}
        <span class="status">${this.#status()}</span>
        ${call.executionId === null ? nothing : html`<callboard-copy-link .executionId=${call.executionId}></callboard-copy-link>`}
        ${isEnded || call.executionId === null ? nothing : this.#cancel(call.executionId)}
      </header>
      ${this.#details(isEnded)} ${isEnded ? nothing : this.#progress()} ${this.#errors()}
      ${decision === null ? nothing : html`<callboard-decision .decision=${decision}></callboard-decision>`}
      ${call.request === null ? nothing : this.#request(call.request)}
      ${this.answer?.notUsed ? html`<p class="notice late-answer" role="alert">${this.answer.notUsed}</p>` : nothing}
      ${isEnded ? this.#result() : nothing}
    </article>`;
  }

  /** The question to the person, or what this page does instead. */
  #request(request: OpenRequest) {
    if (request.purpose === FRONT_END_TOOL && this.run?.state !== "missing") {
      return this.run === undefined ? nothing : html`<callboard-page-run .run=${this.run}></callboard-page-run>`;
    }
    return html`<callboard-request
      .request=${request}
      .tool=${this.#title}
      .info=${this.info}
      .answer=${this.answer}
    ></callboard-request>`;
  }

  /** Arguments with the defaults of what they leave out. */
  #asRead(given: unknown): unknown {
    const fields = this.info?.input_schema === undefined ? null : fieldsOf(this.info.input_schema);
    return fields === null ? given : withDefaults(fields, given);
  }

  /** The title of the tool. A tool without one, or that the manifest does not list, has its name. */
  get #title(): string {
    return this.info?.title || this.call.tool;
  }

  #status(): string {
    const { status, attempt, maximum, history } = this.call;
    if (this.isCancelling && isLive(this.call)) return texts.cancelling;
    const attempts = attempt > 1 || this.#failures.length > 0 ? texts.attempt(attempt, maximum) : "";
    const seconds = isLive(this.call) || UNDONE.has(status) ? null : secondsOf(history);
    return (texts.status[status] ?? status) + attempts + (seconds === null ? "" : texts.spent(duration(seconds)));
  }

  #cancel(executionId: string) {
    return html`<button type="button" class="quiet" aria-label=${texts.cancelCall(this.#title)} ?disabled=${this.isCancelling}
      @click=${() => this.dispatchEvent(new CancelCallEvent(executionId))}>${texts.cancel}</button>`;
  }

  /** What the tool does, its arguments, partial results, attempts and times. They are folded away when the call has ended well, unless the reader chose. */
  #details(isEnded: boolean) {
    const { history } = this.call;
    const given = this.call.arguments;
    const id = stableId(this.call);
    const isWallet = this.call.request?.purpose === "wallet"; // its request shows the same in words
    const isOpen = openChoices.get(id) ?? !(isWallet || (isEnded && this.call.status !== "failed"));
    const hasArguments = isFields(given) && Object.keys(given).length > 0;
    const about = this.info?.description?.split(/\n\s*\n/, 1)[0] ?? "";
    if (!hasArguments && about === "" && history.partialCount === 0 && !isEnded) return nothing;
    return html`<details class="details" ?open=${isOpen} @click=${(event: Event) => this.#choose(event, id)}>
      <summary>${texts.details}</summary>
      ${about === "" ? nothing : html`<p class="about" dir="auto">${about}</p>`}
      ${hasArguments ? facts(given, "exact") : nothing} ${this.#partials(history)} ${this.#attempts(history)}
      ${isEnded ? this.#times(history) : nothing}
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
      ${partials.map((value) => (isFields(value) ? html`<li class="fields">${facts(value)}</li>` : html`<li dir="auto">${short(value)}</li>`))}
    </ul>`;
  }

  /** When each attempt began, how long it took, and why it failed. */
  #attempts(history: History) {
    if (history.attempts.length < 2) return nothing;
    return html`<ol class="attempts" aria-label=${texts.attempts}>
      ${attemptsOf(history).map(({ number, at, seconds, error }) => {
        const spent = seconds === null ? "" : texts.after(duration(seconds));
        return html`<li>${texts.attemptAt(number, timeOf(at))}${spent}${error?.category ? html` · <em>${error.category}</em>` : nothing}</li>`;
      })}
    </ol>`;
  }

  #times(history: History) {
    const split = timeSplit(history);
    if (split === null || history.startedAt === null) return nothing;
    const parts: [string, number][] = [
      [texts.queued, split.queue],
      [history.purpose === FRONT_END_TOOL ? texts.inBrowserTime : texts.waitedForPerson, split.person],
      [texts.worked, split.work],
    ];
    return html`<dl class="facts times">
      <dt>${texts.started}</dt><dd>${timeOf(history.startedAt)}</dd>
      ${parts.filter(([, seconds]) => seconds > 0).map(([name, seconds]) => html`<dt>${name}</dt><dd>${duration(seconds)}</dd>`)}
    </dl>`;
  }

  #progress() {
    const { status, history } = this.call;
    const { progress, retryIn } = history;
    const fraction = progress?.fraction ?? null;
    const share = fraction === null ? "" : ` ${percent(fraction)}`;
    const stage = progress?.stage
      ? `${title(progress.stage)}${share}${progress.message ? `: ${progress.message}` : ""}`
      : "";
    const line = status === "retrying" && retryIn ? texts.nextAttempt(duration(retryIn)) : stage;
    return html`${RUNNING.has(status) ? html`<progress max="1" value=${fraction ?? nothing} aria-label=${texts.progressOf(this.#title)}></progress>` : nothing}
    ${line === "" ? nothing : html`<p class="stage" dir="auto">${line}</p>`}`;
  }

  get #failures(): readonly Failure[] {
    const { history, previousErrors } = this.call;
    return history.errors.length > 0 ? history.errors : previousErrors;
  }

  #errors() {
    if (this.#failures.length === 0) return nothing;
    return html`<ul class="retry-errors">${this.#failures.map((error) => html`<li dir="auto">${error.category}: ${error.message}</li>`)}</ul>`;
  }

  #result() {
    const { status, error, value } = this.call;
    if (error !== null && status !== "succeeded") {
      return html`<div class="result"><p class=${NEUTRAL.has(status) ? "value" : "failure"} dir="auto">${error.message ?? String(error)}</p></div>`;
    }
    if (status !== "succeeded" || value === undefined || value === null) return nothing;
    return html`<div class="result"><callboard-value .value=${value}></callboard-value></div>`;
  }
}

customElements.define("callboard-call", CallElement);
