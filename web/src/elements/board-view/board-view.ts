import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { BoardFilterEvent } from "../../events/board-filter-event.ts";
import type { FollowEvent } from "../../events/follow-event.ts";
import type { SelectEventEvent } from "../../events/select-event-event.ts";
import type { TimeWindowEvent } from "../../events/time-window-event.ts";
import { BoardController } from "../../state/board-controller.ts";
import { isFiltered } from "../../state/board-filter.ts";
import { BoardPlace } from "../../state/board-place.ts";
import { browserStorage } from "../../state/storage.ts";
import { boardTexts } from "../../texts/board.ts";
import "../board-event/board-event.ts";
import type { BoardEventElement } from "../board-event/board-event.ts";
import "../board-filter/board-filter.ts";
import "../board-lanes/board-lanes.ts";
import "../board-list/board-list.ts";
import type { BoardListElement } from "../board-list/board-list.ts";
import { ViewElement } from "../view/view.ts";
import { boardStyles } from "./styles.ts";

const NARROW = matchMedia("(max-width: 700px)");

/** The timeline of a conversation: its events as lanes over time and as a list, with the details of one. */
export class BoardViewElement extends ViewElement {
  static override styles = boardStyles;
  static override properties = { ...ViewElement.properties, theme: {} };
  declare theme: string;
  readonly #board = new BoardController(this, this.api);
  #place = new BoardPlace(browserStorage("sessionStorage"), "");
  #session: string | null = null;
  #announcement = ""; // the result of the last filter, for screen readers
  #announces = false; // whether it is not known yet
  #call = ""; // a call of the address that is not shown yet

  constructor() {
    super();
    this.theme = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    globalThis.addEventListener("pagehide", this.#keep);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#keep();
    globalThis.removeEventListener("pagehide", this.#keep);
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("route") && this.route.view === "timeline") this.#onRoute();
    if (this.#call !== "") this.#showCall();
    if (!this.#announces || !this.#board.isScanned) return;
    this.#announces = false;
    this.#announcement = this.#count();
  }

  override render(): TemplateResult {
    const { state, log } = this.#board;
    const { session } = this.route;
    const isEmpty = log.length === 0;
    return html`
      ${this.header(this.#title(), state === "ready" ? this.#controls(session) : "")}
      <main
        class=${isEmpty ? "empty" : this.#place.opened > 0 ? "detailed" : ""}
        @callboard-select-event=${this.#onSelect}
        @callboard-time-window=${this.#onWindow}
        @callboard-follow=${this.#onFollow}
        @callboard-board-filter=${this.#onFilter}
        @keydown=${this.#onKey}
      >
        ${state !== "ready" || isEmpty ? this.#notice() : this.#content()}
      </main>
    `;
  }

  #title() {
    const { title } = this.#board;
    return html`${boardTexts.title}${title === "" ? nothing : html` <span class="of" dir="auto">${title}</span>`}`;
  }

  #controls(session: string) {
    const { follows, skipsIdle } = this.#place;
    return html`
      <button
        type="button"
        class="switch"
        role="switch"
        id="skip-idle"
        title=${boardTexts.skipIdleHint}
        aria-checked=${skipsIdle}
        @click=${() => this.#change(() => (this.#place.skipsIdle = !skipsIdle))}
      >
        ${boardTexts.skipIdle}
      </button>
      <button
        type="button"
        class="switch"
        role="switch"
        id="follow"
        title=${boardTexts.followHint}
        aria-checked=${follows}
        @click=${() => this.#change(() => (this.#place.follows = !follows))}
      >
        ${boardTexts.follow}
      </button>
      ${this.link({ session }, boardTexts.toConversation, "to-chat")}
    `;
  }

  #notice() {
    const { state, problem } = this.#board;
    const isFailed = state === "failed";
    return html`<div class="nothing" role=${isFailed ? "alert" : "status"} data-state=${state}>
      <p>${boardTexts.notice[state]}</p>
      ${isFailed ? html`<p class="reason">${problem}</p>` : nothing}
      ${isFailed ? html`<button type="button" id="retry" @click=${() => this.#board.retry()}>${boardTexts.tryAgain}</button>` : nothing}
    </div>`;
  }

  #content() {
    const board = this.#board;
    const { window, follows, skipsIdle, active, opened } = this.#place;
    const noMatch = board.shown.entries.length === 0 && board.isScanned;
    return html`
      <div class="tools">
        <callboard-board-filter .filter=${board.filter}></callboard-board-filter>
        <p class="count" id="board-count">${this.#count()}</p>
        <p class="hidden" role="status">${this.#announcement}</p>
      </div>
      ${this.#connection()}
      <callboard-board-lanes
        .board=${board}
        .version=${board.version}
        .window=${window}
        .active=${active}
        .follows=${follows}
        .skipsIdle=${skipsIdle}
        .theme=${this.theme}
      ></callboard-board-lanes>
      <callboard-board-list
        .shown=${board.shown}
        .version=${board.version}
        .start=${board.log.first?.at ?? 0}
        .active=${active}
        .follows=${follows}
      ></callboard-board-list>
      ${noMatch ? html`<p class="no-match">${boardTexts.noMatch}</p>` : nothing}
      ${
        opened === 0
          ? nothing
          : html`<aside aria-label=${boardTexts.details}>
              <callboard-board-event .board=${board} .seq=${opened} .session=${this.route.session}></callboard-board-event>
            </aside>`
      }
    `;
  }

  #count(): string {
    const { log, shown, filter, total, isLoading, isCut } = this.#board;
    const count = isFiltered(filter)
      ? boardTexts.shownOf(shown.entries.length, log.length)
      : boardTexts.count(log.length);
    if (isLoading) return boardTexts.loaded(log.length, total);
    return isCut ? `${count}. ${boardTexts.cut(log.length)}` : count;
  }

  #connection() {
    const { connection } = this.#board;
    if (connection !== "waiting" && connection !== "reconnecting") return nothing;
    return html`<p class="notice offline" role="status">
      ${boardTexts.offline}
      <button type="button" class="quiet" ?disabled=${connection !== "waiting"} @click=${() => this.#board.retry()}>
        ${boardTexts.tryNow}
      </button>
    </p>`;
  }

  override updated(): void {
    const list = this.#list;
    if (list === null || this.#place.anchor === null) return;
    list.anchor = this.#place.anchor;
    this.#place.anchor = null;
    list.requestUpdate();
  }

  // What the person does

  #onRoute(): void {
    const { session, call } = this.route;
    if (session !== this.#session) {
      this.#keep();
      this.#session = session;
      this.#place = new BoardPlace(browserStorage("sessionStorage"), session);
      this.#board.filter = this.#place.filter;
      this.#board.open(session);
    }
    this.#call = call;
  }

  /** Select the call of the address as soon as it is loaded. */
  #showCall(): void {
    const first = this.#board.tracks.calls.get(this.#call)?.steps.first;
    if (first === undefined) return;
    this.#call = "";
    this.#place.active = this.#place.opened = first.seq;
    this.#place.follows = false;
  }

  #change(action: () => void): void {
    action();
    this.requestUpdate();
  }

  readonly #onSelect = ({ seq, opens }: SelectEventEvent) => {
    this.#change(() => {
      const place = this.#place;
      if (seq === 0) {
        place.opened = 0;
        this.#list?.querySelector<HTMLElement>("#events")?.focus();
        return;
      }
      place.follows = false;
      place.active = seq;
      if (opens && place.opened === 0 && NARROW.matches) void this.#focusDetails();
      if (opens || place.opened > 0) place.opened = seq;
    });
  };

  /** Move the focus to the details, which cover the list on a narrow screen. */
  async #focusDetails(): Promise<void> {
    await this.updateComplete;
    await this.renderRoot.querySelector<BoardEventElement>("callboard-board-event")?.updateComplete;
    this.renderRoot.querySelector<HTMLElement>("#close-event")?.focus();
  }

  readonly #onWindow = ({ window }: TimeWindowEvent) => {
    this.#change(() => {
      this.#place.window = window;
      if (window !== null) this.#place.follows = false;
    });
  };

  readonly #onFollow = ({ follows }: FollowEvent) => this.#change(() => (this.#place.follows = follows));

  readonly #onFilter = ({ filter }: BoardFilterEvent) => {
    this.#place.filter = filter;
    this.#announces = true;
    this.#board.setFilter(filter);
  };

  readonly #onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || this.#place.opened === 0) return;
    event.stopPropagation();
    this.#change(() => (this.#place.opened = 0));
    this.#list?.querySelector<HTMLElement>("#events")?.focus();
  };

  /** Store what is shown, for a reload. */
  readonly #keep = () => {
    if (this.#session) this.#place.keep(this.#list?.anchor ?? this.#place.anchor);
  };

  get #list(): BoardListElement | null {
    return this.renderRoot.querySelector("callboard-board-list");
  }
}

customElements.define("callboard-board-view", BoardViewElement);
