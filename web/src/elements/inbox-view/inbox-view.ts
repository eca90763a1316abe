import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { type Fields, isFields } from "../../api/wire.ts";
import { AnsweredEvent } from "../../events/answered-event.ts";
import type { AnswerEvent } from "../../events/answer-event.ts";
import { ago, localTime, title } from "../../format.ts";
import { countText } from "../../state/badge.ts";
import { differences } from "../../state/history.ts";
import { type DecidedRequest, InboxController } from "../../state/inbox-controller.ts";
import { SHOWN } from "../../state/inbox-order.ts";
import { notifications } from "../../state/notifications.ts";
import type { InboxRequest } from "../../state/inbox-request.ts";
import { texts } from "../../texts.ts";
import { inboxTexts } from "../../texts/inbox.ts";
import { visibleLines } from "../../visible-text.ts";
import { differenceList } from "../decision/decision.ts";
import "../request/request.ts";
import type { RequestElement } from "../request/request.ts";
import { facts } from "../value/value.ts";
import { ViewElement } from "../view/view.ts";
import { inboxStyles } from "./styles.ts";

/**
 * The inbox: what waits for the person over all conversations, and what was decided lately.
 *
 * @fires callboard-answered - The person has answered a request.
 * @fires callboard-navigate - The person opens a conversation.
 */
export class InboxViewElement extends ViewElement {
  static override styles = inboxStyles;
  static override properties = { ...ViewElement.properties, announcement: { state: true }, isLate: { state: true } };
  declare announcement: string;
  /** Whether the last answer came too late. */
  declare isLate: boolean;
  readonly #inbox = new InboxController(this, this.api);
  #focusRow = -1;

  constructor() {
    super();
    this.announcement = "";
    this.isLate = false;
  }

  override render(): TemplateResult {
    const { shown, requests, fresh, problem } = this.#inbox;
    return html`${this.header(inboxTexts.title, this.#notifyButton())}
      <main tabindex="-1">
        <div class="column">
          ${problem === "" ? nothing : this.#problem(problem)}
          <p class="notice" role="status" ?hidden=${!this.isLate}>${this.isLate ? inboxTexts.late : ""}</p>
          <section aria-labelledby="waiting">
            <h2 id="waiting">
              ${inboxTexts.waiting}
              ${requests.requests.length > 0 ? html`<span class="count">${this.#count()}</span>` : nothing}
            </h2>
            ${fresh > 0 ? this.#freshButton(fresh) : nothing}
            ${shown.length > 0 ? this.#cards(shown) : requests.isLoaded ? this.#empty() : this.#loading(problem)}
            ${this.#pages()}
          </section>
          <section aria-labelledby="decided">
            <h2 id="decided">${inboxTexts.decided}</h2>
            ${this.#decisions()}
          </section>
        </div>
        <p class="hidden" role="status" id="inbox-announcer">${this.announcement}</p>
      </main>`;
  }

  override updated(changed: PropertyValues<this>): void {
    super.updated(changed);
    if (this.#focusRow < 0) return;
    const requests = [...this.renderRoot.querySelectorAll<RequestElement>("callboard-request")];
    const next = requests[Math.min(this.#focusRow, requests.length - 1)];
    this.#focusRow = -1;
    if (next === undefined) this.renderRoot.querySelector("h1")?.focus();
    else void next.updateComplete.then(() => next.focus());
  }

  #count(): string {
    const { requests, hasMore } = this.#inbox.requests;
    return hasMore ? countText(Math.max(requests.length, 100)) : String(requests.length);
  }

  #notifyButton() {
    const { state } = notifications;
    if (state === "unavailable") return nothing;
    if (state === "blocked") return html`<span class="hint">${inboxTexts.blocked}</span>`;
    const isOn = state === "on";
    return html`<button type="button" class="quiet" id="notify" aria-pressed=${isOn} @click=${this.#toggleNotifications}>
      ${isOn ? inboxTexts.notifying : inboxTexts.notify}
    </button>`;
  }

  #problem(problem: string) {
    return html`<p class="notice error" role="alert">
      ${problem}
      <button type="button" class="quiet" @click=${() => this.#inbox.load()}>${inboxTexts.tryAgain}</button>
    </p>`;
  }

  #loading(problem: string) {
    return problem === "" ? html`<p class="hint">${inboxTexts.loading}</p>` : nothing;
  }

  #empty() {
    return html`<div class="empty">
      <p>${inboxTexts.nothing}</p>
      <p class="hint">${inboxTexts.nothingHint}</p>
    </div>`;
  }

  #freshButton(count: number) {
    return html`<button type="button" id="fresh" @click=${() => this.#inbox.showFresh()}>
      ${inboxTexts.showFresh(count)}
    </button>`;
  }

  #cards(shown: readonly InboxRequest[]) {
    return html`<ul class="cards" @callboard-answer=${this.#answer}>
      ${repeat(
        shown,
        ({ id }) => id,
        (request) => html`<li data-id=${request.id}>${this.#card(request)}</li>`,
      )}
    </ul>`;
  }

  #card(request: InboxRequest) {
    const { tool, open, sessionId, createdAt, excerpt } = request;
    const info = this.#inbox.tools.get(tool);
    const name = info?.title || title(tool);
    return html`<article class="card" data-status="waiting" aria-label=${texts.callOf(tool)}>
      <header>
        <strong title=${info?.description ?? nothing}>${name}</strong>
        <span class="where">
          ${this.#conversation(sessionId)}
          <time datetime=${createdAt} title=${localTime(createdAt)}>${inboxTexts.asked(ago(createdAt))}</time>
        </span>
        <a
          class="open"
          href=${this.#href(request)}
          aria-label=${inboxTexts.openConversationOf(tool)}
          @click=${(event: MouseEvent) => this.follow(event, { session: sessionId, request: request.id })}
          >${inboxTexts.openConversation}</a
        >
      </header>
      ${excerpt === null ? this.#payload(open.payload) : html`<p class="hint" dir="auto">${visibleLines(excerpt)}…</p>`}
      <callboard-request
        .request=${open}
        .tool=${tool}
        .info=${info}
        .answer=${this.#inbox.answers.get(request.id)}
      ></callboard-request>
    </article>`;
  }

  #href({ sessionId, id }: InboxRequest): string {
    return `?${new URLSearchParams({ session: sessionId, request: id }).toString()}`;
  }

  #payload(payload: unknown) {
    return isFields(payload) && Object.keys(payload).length > 0 ? facts(payload, "exact") : nothing;
  }

  #conversation(sessionId: string) {
    const name = this.#inbox.titles.get(sessionId);
    return name === undefined ? nothing : html`<bdi class="conversation">${inboxTexts.inConversation(name)}</bdi>`;
  }

  #pages() {
    const { page, total, shown, hasNextPage } = this.#inbox;
    if (page === 0 && !hasNextPage) return nothing;
    const first = page * SHOWN + 1;
    const all = this.#inbox.requests.hasMore ? `${total}+` : String(total);
    return html`<nav class="pages" aria-label=${inboxTexts.pages}>
      <button type="button" class="quiet" ?disabled=${page === 0} @click=${() => this.#turn(-1)}>
        ${inboxTexts.previous}
      </button>
      <span>${inboxTexts.page(first, first + shown.length - 1, all)}</span>
      <button type="button" class="quiet" id="next-page" ?disabled=${!hasNextPage} @click=${() => this.#turn(1)}>
        ${inboxTexts.next}
      </button>
    </nav>`;
  }

  #decisions() {
    const { decided, hasEarlierDecisions } = this.#inbox;
    if (decided.length === 0) return html`<p class="hint">${inboxTexts.nothingDecided}</p>`;
    return html`<ul class="decided">
        ${repeat(
          decided,
          ({ request_id: id }) => id,
          (request) => html`<li>${this.#decision(request)}</li>`,
        )}
      </ul>
      ${
        hasEarlierDecisions
          ? html`<button type="button" class="quiet" @click=${() => this.#inbox.loadEarlierDecisions()}>
            ${inboxTexts.earlier}
          </button>`
          : nothing
      }`;
  }

  #decision(request: DecidedRequest) {
    const { tool, session_id: session, execution_id: call, decision } = request;
    const outcome = decision?.outcome ?? "withdrawn";
    const at = decision?.at ?? null;
    const name = this.#inbox.tools.get(tool)?.title || title(tool);
    return html`<details data-outcome=${outcome}>
      <summary>
        <span class="outcome">${inboxTexts.outcome[outcome]}</span>
        <span class="what">${name} ${this.#conversation(session)}</span>
        <span class="who">
          ${decision?.answered_by ? html`<bdi>${inboxTexts.by(decision.answered_by)}</bdi>` : nothing}
          ${at === null ? nothing : html`<time datetime=${at} title=${localTime(at)}>${ago(at)}</time>`}
        </span>
      </summary>
      <div class="content">
        ${this.#answered(request)}
        ${this.link({ session, call }, inboxTexts.openConversation, "open")}
      </div>
    </details>`;
  }

  /** What was asked for, and what the answer changed or said. */
  #answered({ purpose, payload, decision }: DecidedRequest) {
    const answer = decision?.answer ?? null;
    return html`${this.#payload(payload)}
    ${purpose === "approval" && isFields(answer) ? this.#approval(payload, answer) : this.#given(answer)}`;
  }

  /** The changes of an approval, and the reason of a rejection. The outcome says the rest. */
  #approval(payload: unknown, { approved: _approved, arguments: edited, ...rest }: Fields) {
    const changes = edited === undefined ? [] : differences(payload, edited);
    return html`${changes.length > 0 ? differenceList(changes) : nothing} ${this.#given(rest)}`;
  }

  #given(answer: unknown) {
    if (answer === null) return nothing;
    if (!isFields(answer)) return html`<p dir="auto">${String(answer)}</p>`;
    return Object.keys(answer).length > 0 ? facts(answer) : nothing;
  }

  readonly #answer = async (event: AnswerEvent) => {
    const { shown } = this.#inbox;
    const row = shown.findIndex(({ id }) => id === event.request.id);
    const request = shown[row];
    if (request === undefined) return;
    const result = await this.#inbox.answer(request, event.answer);
    if (result === "refused") return;
    this.isLate = result === "late";
    this.announcement = this.isLate ? inboxTexts.late : inboxTexts.sent(this.#inbox.requests.requests.length);
    this.#focusRow = row;
    this.requestUpdate();
    this.dispatchEvent(new AnsweredEvent());
  };

  async #turn(step: 1 | -1): Promise<void> {
    await this.#inbox.turnPage(step);
    await this.updateComplete;
    this.renderRoot.querySelector("main")?.scrollTo(0, 0);
    this.renderRoot.querySelector("main")?.focus();
  }

  readonly #toggleNotifications = async () => {
    if (notifications.state === "on") notifications.turnOff();
    else await notifications.turnOn();
    this.requestUpdate();
  };
}

customElements.define("callboard-inbox-view", InboxViewElement);
