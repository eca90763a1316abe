import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { explain } from "../../api/problem.ts";
import type { SessionInfo } from "../../api/wire.ts";
import { CurrentChangeEvent } from "../../events/current-change-event.ts";
import { OpenSessionEvent } from "../../events/open-session-event.ts";
import { SessionsChangeEvent } from "../../events/sessions-change-event.ts";
import { ago, localTime } from "../../format.ts";
import { SessionListController } from "../../state/session-list-controller.ts";
import { scrollToRow, type Viewport, visibleRows } from "../../state/visible-rows.ts";
import { texts } from "../../texts.ts";
import "../confirm/confirm.ts";
import type { ConfirmElement } from "../confirm/confirm.ts";
import { bin, pencil } from "./icons.ts";
import { ROW, sidebarStyles } from "./styles.ts";

const PAUSE = 250; // milliseconds after the last key before a search
const NEAR = 10; // rows before the end at which the next page is loaded

/**
 * The conversations of the person: open, search, rename and delete. Only the rows near the visible part are drawn.
 *
 * @slot views - Links to other views, above the list.
 * @slot bottom - Controls below the list.
 * @fires callboard-open-session - The person opens a conversation, or starts a new one.
 * @fires callboard-sessions-change - The person has renamed or deleted a conversation.
 * @fires callboard-current-change - The title of the open conversation is known or has changed.
 */
export class SidebarElement extends LitElement {
  static override styles = sidebarStyles;
  static override properties = {
    current: {},
    elsewhere: { type: Boolean },
    renamed: { state: true },
    problem: { state: true },
    viewport: { state: true },
    active: { state: true },
  };
  /** The conversation that is open. */
  declare current: string;
  /** Whether another view is shown in its place. */
  declare elsewhere: boolean;
  /** The conversation whose title is being edited. */
  declare renamed: string;
  declare problem: string;
  declare viewport: Viewport;
  /** The conversation whose row has the focus, or had it last. */
  declare active: string;
  readonly #list = new SessionListController(this);
  readonly #observer = new ResizeObserver(() => this.#look());
  #search: ReturnType<typeof setTimeout> | undefined;
  #title = "";

  constructor() {
    super();
    this.current = "";
    this.elsewhere = false;
    this.renamed = "";
    this.problem = "";
    this.viewport = { top: 0, height: 0 };
    this.active = "";
  }

  /** Load the list again. */
  refresh(): void {
    void this.#list.refresh();
  }

  /** Forget the conversations, because the person signs out. */
  clear(): void {
    this.#list.clear();
  }

  /** Focus the first control. */
  override focus(): void {
    this.renderRoot.querySelector<HTMLElement>(".new")?.focus();
  }

  override firstUpdated(): void {
    const list = this.#scroller;
    if (list !== null) this.#observer.observe(list);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#observer.disconnect();
  }

  override willUpdate(): void {
    this.#list.current = this.current;
  }

  override updated(changed: PropertyValues<this>): void {
    if (changed.has("renamed") && this.renamed !== "")
      this.renderRoot.querySelector<HTMLInputElement>(".rename")?.select();
    const known = `${this.current} ${this.#list.currentTitle}`;
    if (known !== this.#title) this.dispatchEvent(new CurrentChangeEvent(this.current, this.#list.currentTitle));
    this.#title = known;
    if (changed.has("current") && this.#list.isLoaded && this.current !== "" && this.#list.currentTitle === "")
      this.refresh();
    this.#loadMore();
  }

  override render(): TemplateResult {
    const { sessions, search, hasTitles, isLoaded } = this.#list;
    const tabStop = this.#tabStop();
    return html`<nav aria-label=${texts.menu}>
      <p class="brand"><img src="icon.svg" alt="" width="24" height="24" />${texts.appName}</p>
      <button type="button" class="new" @click=${() => this.#open(null)}>${texts.newConversation.join("")}</button>
      <slot name="views"></slot>
      ${hasTitles || search !== "" ? this.#searchField() : nothing}
      <p class="notice error" role="alert" ?hidden=${this.problem === ""}>${this.problem}</p>
      ${isLoaded && sessions.length === 0 ? html`<p class="empty">${search === "" ? texts.noConversations : texts.nothingFound}</p>` : nothing}
      <div class="scroller" @scroll=${this.#look}>
        <ul
          aria-label=${texts.menu}
          .style=${`block-size: ${sessions.length * ROW}px`}
          @keydown=${this.#onKey}
          @focusin=${this.#onFocus}
        >
          ${repeat(
            this.#rows(),
            (row) => sessions[row]?.session_id,
            (row) => this.#item(row, sessions[row], row === tabStop),
          )}
        </ul>
      </div>
      <slot name="bottom"></slot>
      <callboard-confirm></callboard-confirm>
    </nav>`;
  }

  #searchField() {
    return html`<input
      type="search"
      aria-label=${texts.searchConversations}
      placeholder=${texts.searchConversations}
      @input=${this.#onSearch}
    />`;
  }

  #rows(): number[] {
    const { sessions } = this.#list;
    const kept = [this.active, this.renamed].filter((id) => id !== "").map((id) => this.#rowOf(id));
    return visibleRows(sessions.length, ROW, this.viewport, kept);
  }

  #rowOf(sessionId: string): number {
    return this.#list.sessions.findIndex(({ session_id: id }) => id === sessionId);
  }

  #item(row: number, session: SessionInfo | undefined, isReachable: boolean) {
    if (session === undefined) return nothing;
    const { session_id: id } = session;
    const name = session.title || id;
    return html`<li
      .style=${`inset-block-start: ${row * ROW}px`}
      aria-setsize=${this.#list.hasMore ? -1 : this.#list.sessions.length}
      aria-posinset=${row + 1}
    >
      ${
        id === this.renamed
          ? html`<input
              class="rename"
              dir="auto"
              maxlength="200"
              aria-label=${texts.rename}
              .value=${name}
              @keydown=${this.#onRenameKey}
              @blur=${() => (this.renamed = "")}
            />`
          : this.#link(session, name, isReachable)
      }
    </li>`;
  }

  #link({ session_id: id, waiting, running, ...session }: SessionInfo, name: string, isReachable: boolean) {
    const time = session.last_activity_at ?? session.created_at;
    const isCurrent = id === this.current && !this.elsewhere;
    return html`<a
        href="?session=${encodeURIComponent(id)}"
        tabindex=${isReachable ? 0 : -1}
        data-id=${id}
        aria-current=${isCurrent ? "page" : nothing}
        @click=${(event: MouseEvent) => this.#onClick(event, id)}
      >
        <span class="name" dir="auto">${name}</span>
        <span class="meta">
          ${running ? html`<span class="running">${texts.running}</span>` : nothing}
          ${waiting ? html`<span class="badge">${texts.waiting(Number(waiting))}</span>` : nothing}
          ${time ? html`<time datetime=${time} title=${localTime(time)}>${ago(time)}</time>` : nothing}
        </span>
      </a>
      <span class="tools">
        ${this.#list.hasTitles ? this.#tool(texts.renameOf(name), pencil, isReachable, () => (this.renamed = id)) : nothing}
        ${this.#tool(texts.deleteOf(name), bin, isReachable, () => void this.#delete(id, name))}
      </span>`;
  }

  #tool(label: string, icon: TemplateResult, isReachable: boolean, action: () => void) {
    return html`<button
      type="button"
      class="quiet"
      tabindex=${isReachable ? 0 : -1}
      aria-label=${label}
      title=${label}
      @click=${action}
    >
      ${icon}
    </button>`;
  }

  /** The row that the Tab key reaches: the one that had the focus, the open conversation, or the first. */
  #tabStop(): number {
    const row = this.#rowOf(this.active);
    return Math.max(row >= 0 ? row : this.#rowOf(this.current), 0);
  }

  #open(sessionId: string | null): void {
    this.dispatchEvent(new OpenSessionEvent(sessionId));
  }

  #onClick(event: MouseEvent, id: string): void {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab or window
    event.preventDefault();
    this.#open(id);
  }

  async #delete(id: string, name: string): Promise<void> {
    const dialog = this.renderRoot.querySelector<ConfirmElement>("callboard-confirm");
    if (!(await dialog?.ask(texts.confirmDelete(name), texts.delete))) return;
    const row = this.#rowOf(id);
    if (!(await this.#try(() => this.#list.delete(id)))) return;
    if (id === this.current) this.#open(null);
    else if (this.#list.sessions.length > 0) this.#focusRow(Math.min(row, this.#list.sessions.length - 1));
    else this.focus();
  }

  async #rename(id: string, title: string): Promise<void> {
    this.renamed = "";
    this.#focusRow(this.#rowOf(id));
    if (title === "") return;
    await this.#try(() => this.#list.rename(id, title));
  }

  /** Change the list at the server, and tell so or show why not. Returns whether it worked. */
  async #try(action: () => Promise<void>): Promise<boolean> {
    this.problem = "";
    try {
      await action();
    } catch (error) {
      this.problem = explain(error);
      return false;
    }
    this.dispatchEvent(new SessionsChangeEvent());
    return true;
  }

  readonly #onSearch = (event: Event) => {
    clearTimeout(this.#search);
    this.#list.search = (event.target as HTMLInputElement).value.trim();
    this.#search = setTimeout(() => this.refresh(), PAUSE);
  };

  readonly #onRenameKey = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.isComposing) return;
    const title = (event.target as HTMLInputElement).value.trim();
    if (event.key === "Enter") void this.#rename(this.renamed, title);
    else if (event.key === "Escape") void this.#rename(this.renamed, "");
  };

  readonly #onFocus = (event: FocusEvent) => {
    const row = (event.target as Element).closest("li")?.querySelector("a");
    if (row?.dataset["id"] !== undefined) this.active = row.dataset["id"];
  };

  /** Move between conversations, rename and delete with keys. */
  readonly #onKey = (event: KeyboardEvent) => {
    const row = this.#rowOf(this.active);
    const session = this.#list.sessions[row];
    if (session === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const last = this.#list.sessions.length - 1;
    const target = { ArrowDown: row + 1, ArrowUp: row - 1, Home: 0, End: last }[event.key];
    if (target !== undefined) this.#focusRow(Math.min(Math.max(target, 0), last));
    else if (event.key === "F2" && this.#list.hasTitles) this.renamed = session.session_id;
    else if (event.key === "Delete") void this.#delete(session.session_id, session.title || session.session_id);
    else return;
    event.preventDefault();
  };

  /** Focus a row, which is drawn first if it is not visible. */
  #focusRow(row: number): void {
    const id = this.#list.sessions[row]?.session_id;
    const scroller = this.#scroller;
    if (id === undefined || scroller === null) return;
    this.active = id;
    scroller.scrollTop = scrollToRow(row, ROW, { top: scroller.scrollTop, height: scroller.clientHeight });
    this.#look();
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector<HTMLElement>(`a[data-id="${CSS.escape(id)}"]`)?.focus({ preventScroll: true }),
    );
  }

  readonly #look = () => {
    const { scrollTop: top = 0, clientHeight: height = 0 } = this.#scroller ?? {};
    const before = this.viewport;
    if (before.top !== top || before.height !== height) this.viewport = { top, height };
  };

  #loadMore(): void {
    const { top, height } = this.viewport;
    const isNear = top + height >= (this.#list.sessions.length - NEAR) * ROW;
    if (height > 0 && isNear && this.#list.hasMore) void this.#list.loadMore();
  }

  get #scroller(): HTMLElement | null {
    return this.renderRoot.querySelector(".scroller");
  }
}

customElements.define("callboard-sidebar", SidebarElement);
