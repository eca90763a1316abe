import { html, LitElement, nothing, type TemplateResult } from "lit";
import type { OpenSessionEvent } from "../../events/open-session-event.ts";
import type { SessionChangeEvent } from "../../events/session-change-event.ts";
import type { WaitingChangeEvent } from "../../events/waiting-change-event.ts";
import { browserStorage } from "../../state/storage.ts";
import { texts } from "../../texts.ts";
import "../chat/chat.ts";
import type { ChatElement } from "../chat/chat.ts";
import "../shortcuts/shortcuts.ts";
import type { ShortcutsElement } from "../shortcuts/shortcuts.ts";
import "../sidebar/sidebar.ts";
import type { SidebarElement } from "../sidebar/sidebar.ts";
import { appStyles } from "./styles.ts";

const SESSION = "callboard.session";
const THEME = "callboard.theme";
const THEMES = ["", "light", "dark"] as const;

type Theme = (typeof THEMES)[number];

const storage = browserStorage("localStorage");

/** The page: the sidebar with the conversations, and the conversation of the address, or the last one. */
export class AppElement extends LitElement {
  static override styles = appStyles;
  static override properties = { sessionId: { state: true }, isMenuOpen: { state: true }, theme: { reflect: true } };
  /** The conversation that is open. Empty for a new one. */
  declare sessionId: string;
  declare isMenuOpen: boolean;
  /** Light or dark. Empty for the preference of the system. */
  declare theme: Theme;

  constructor() {
    super();
    this.sessionId = sessionOfAddress() ?? storage.get(SESSION) ?? "";
    this.isMenuOpen = false;
    this.theme = THEMES.find((each) => each === storage.get(THEME)) ?? "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    globalThis.addEventListener("popstate", this.#onPopState);
    globalThis.addEventListener("keydown", this.#onKey);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    globalThis.removeEventListener("popstate", this.#onPopState);
    globalThis.removeEventListener("keydown", this.#onKey);
  }

  override render(): TemplateResult {
    const theme = this.theme || nothing;
    return html`
      <a class="skip" href="#message" @click=${this.#skip}>${texts.skip}</a>
      <callboard-sidebar theme=${theme} class=${this.isMenuOpen ? "open" : ""} id="sidebar" current=${this.sessionId} @callboard-open-session=${this.#onOpen}>
        <div slot="bottom" class="settings">
          <button type="button" class="quiet" id="theme" @click=${this.#nextTheme}>${texts.theme[this.theme]}</button>
          <button type="button" class="quiet" id="keys" @click=${this.#showShortcuts}>${texts.shortcuts}</button>
        </div>
      </callboard-sidebar>
      ${this.isMenuOpen ? html`<div class="shade" @click=${() => (this.isMenuOpen = false)}></div>` : nothing}
      <callboard-chat
        theme=${theme}
        session-id=${this.sessionId}
        @callboard-ready=${this.#refresh}
        @callboard-session-change=${this.#onSession}
        @callboard-waiting-change=${this.#onWaiting}
      >
        <button slot="start" type="button" class="quiet menu" id="menu" aria-controls="sidebar" aria-expanded=${this.isMenuOpen} aria-label=${texts.menu} @click=${() => (this.isMenuOpen = !this.isMenuOpen)}>☰</button>
      </callboard-chat>
      <callboard-shortcuts></callboard-shortcuts>
    `;
  }

  get #chat(): ChatElement | null {
    return this.renderRoot.querySelector("callboard-chat");
  }

  readonly #skip = (event: Event) => {
    event.preventDefault();
    this.#chat?.focus();
  };

  readonly #onOpen = ({ sessionId }: OpenSessionEvent) => {
    this.isMenuOpen = false;
    if (sessionId === null) this.#chat?.startConversation();
    else this.sessionId = sessionId;
  };

  /** Keep the address and the list in step with the chat. */
  readonly #onSession = ({ sessionId, exists }: SessionChangeEvent) => {
    this.sessionId = exists ? sessionId : "";
    storage.set(SESSION, exists ? sessionId : null);
    const url = new URL(location.href);
    const before = sessionOfAddress();
    if (exists) url.searchParams.set("session", sessionId);
    else url.searchParams.delete("session");
    if (url.href === location.href) return;
    if (before === null) history.replaceState(null, "", url);
    else history.pushState(null, "", url);
  };

  readonly #onWaiting = ({ count }: WaitingChangeEvent) => {
    document.title = count > 0 ? `(${count}) ${texts.appName}` : texts.appName;
    this.#refresh();
  };

  readonly #refresh = () => this.renderRoot.querySelector<SidebarElement>("callboard-sidebar")?.refresh();

  readonly #onPopState = () => {
    const sessionId = sessionOfAddress();
    if (sessionId === null) this.#chat?.startConversation();
    else this.sessionId = sessionId;
  };

  readonly #nextTheme = () => {
    this.theme = THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length] ?? "";
    storage.set(THEME, this.theme || null);
  };

  readonly #showShortcuts = () => {
    this.renderRoot.querySelector<ShortcutsElement>("callboard-shortcuts")?.open();
  };

  readonly #onKey = (event: KeyboardEvent) => {
    const isWriting = event
      .composedPath()
      .some((each) => each instanceof HTMLElement && each.matches("input, textarea, select"));
    if (event.key === "?" && !isWriting) this.#showShortcuts();
    else if (event.key === "/" && !isWriting) {
      event.preventDefault();
      this.#chat?.focus();
    } else if (event.altKey && event.key.toLowerCase() === "n") this.#chat?.startConversation();
    else if (event.key === "Escape") this.isMenuOpen = false;
  };
}

const sessionOfAddress = () => new URLSearchParams(location.search).get("session");

customElements.define("callboard-app", AppElement);
