import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { SessionInfo } from "../../api/wire.ts";
import { OpenSessionEvent } from "../../events/open-session-event.ts";
import { ago } from "../../format.ts";
import { SessionListController } from "../../state/session-list-controller.ts";
import { texts } from "../../texts.ts";
import { sidebarStyles } from "./styles.ts";

const PAUSE = 250; // milliseconds after the last key before a search

/**
 * The conversations of the person: open, search, rename and delete.
 *
 * @slot bottom - Controls below the list.
 * @fires callboard-open-session - The person opens a conversation, or starts a new one.
 */
export class SidebarElement extends LitElement {
  static override styles = sidebarStyles;
  static override properties = { current: {}, renamed: { state: true } };
  /** The conversation that is open. */
  declare current: string;
  /** The conversation whose title is being edited. */
  declare renamed: string;
  readonly #list = new SessionListController(this);
  #search: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.current = "";
    this.renamed = "";
  }

  /** Load the list again. */
  refresh(): void {
    void this.#list.refresh();
  }

  override updated(changed: PropertyValues<this>): void {
    if (changed.has("renamed") && this.renamed !== "")
      this.renderRoot.querySelector<HTMLInputElement>(".rename")?.select();
  }

  override render(): TemplateResult {
    return html`<nav aria-label=${texts.menu}>
      <p class="brand"><img src="icon.svg" alt="" width="24" height="24" />${texts.appName}</p>
      <button type="button" class="new" @click=${() => this.#open(null)}>${texts.newConversation.join("")}</button>
      ${
        this.#list.hasTitles || this.#list.search !== ""
          ? html`<input type="search" aria-label=${texts.searchConversations} placeholder=${texts.searchConversations} @input=${this.#onSearch} />`
          : nothing
      }
      <ul @keydown=${this.#onKey}>
        ${repeat(
          this.#list.sessions,
          ({ session_id: id }) => id,
          (session) => this.#item(session),
        )}
      </ul>
      <slot name="bottom"></slot>
    </nav>`;
  }

  #item(session: SessionInfo) {
    const { session_id: id, waiting, running } = session;
    const name = session.title || id;
    const time = session.last_activity_at ?? session.created_at;
    if (id === this.renamed) {
      return html`<li><input class="rename" aria-label=${texts.rename} .value=${name} @keydown=${this.#onRenameKey} @blur=${() => (this.renamed = "")} /></li>`;
    }
    return html`<li>
      <a href="?session=${encodeURIComponent(id)}" dir="auto" aria-current=${id === this.current ? "page" : nothing} @click=${(event: MouseEvent) => this.#onClick(event, id)}>
        <span class="name">${name}</span>
        <span class="meta">${time ? ago(time) : ""}${running ? html` · ${texts.running}` : nothing}${waiting ? html` <span class="badge">${texts.waiting(Number(waiting))}</span>` : nothing}</span>
      </a>
      ${id === this.current ? this.#tools(id, name) : nothing}
    </li>`;
  }

  #tools(id: string, name: string) {
    return html`<span class="tools">
      ${this.#list.hasTitles ? html`<button type="button" class="quiet" @click=${() => (this.renamed = id)}>${texts.rename}</button>` : nothing}
      <button type="button" class="quiet" @click=${() => this.#delete(id, name)}>${texts.delete}</button>
    </span>`;
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
    if (!globalThis.confirm(texts.confirmDelete(name))) return;
    await this.#list.delete(id).catch(() => undefined);
    if (id === this.current) this.#open(null);
  }

  readonly #onSearch = (event: Event) => {
    clearTimeout(this.#search);
    this.#list.search = (event.target as HTMLInputElement).value.trim();
    this.#search = setTimeout(() => this.refresh(), PAUSE);
  };

  readonly #onRenameKey = (event: KeyboardEvent) => {
    const id = this.renamed;
    const title = (event.target as HTMLInputElement).value.trim();
    if (event.key === "Escape" || event.key === "Enter") this.renamed = "";
    if (event.key === "Enter" && title !== "") void this.#list.rename(id, title).catch(() => undefined);
  };

  /** Move between conversations with the arrow keys. */
  readonly #onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const links = [...this.renderRoot.querySelectorAll<HTMLElement>("li > a")];
    const next = links[links.indexOf(this.shadowRoot?.activeElement as HTMLElement) + step];
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
  };
}

customElements.define("callboard-sidebar", SidebarElement);
