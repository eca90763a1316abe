import { html, LitElement, nothing, render, type TemplateResult } from "lit";
import { pageToken } from "../../api/token-store.ts";
import type { CurrentChangeEvent } from "../../events/current-change-event.ts";
import type { NavigateEvent } from "../../events/navigate-event.ts";
import type { OpenSessionEvent } from "../../events/open-session-event.ts";
import type { SessionChangeEvent } from "../../events/session-change-event.ts";
import type { WaitingChangeEvent } from "../../events/waiting-change-event.ts";
import { title } from "../../format.ts";
import { BadgeController } from "../../state/badge-controller.ts";
import { countText, titleWith } from "../../state/badge.ts";
import { notifications } from "../../state/notifications.ts";
import type { InboxRequest } from "../../state/inbox-request.ts";
import { parseRoute, route, routeQuery, type Route, type View } from "../../state/route.ts";
import { Shortcuts } from "../../state/shortcuts.ts";
import { browserStorage } from "../../state/storage.ts";
import { type Change, TabChannel } from "../../state/tab-channel.ts";
import { texts } from "../../texts.ts";
import "../chat/chat.ts";
import type { ChatElement } from "../chat/chat.ts";
import "../shortcuts/shortcuts.ts";
import type { ShortcutsElement } from "../shortcuts/shortcuts.ts";
import "../sidebar/sidebar.ts";
import type { SidebarElement } from "../sidebar/sidebar.ts";
import "../token-dialog/token-dialog.ts";
import type { ViewElement } from "../view/view.ts";
import { SignInController } from "./sign-in-controller.ts";
import { appStyles } from "./styles.ts";
import { chooseNext, chosenTheme, type Theme } from "./theme.ts";
import { makeView } from "./views.ts";

const SESSION = "callboard.session";

const storage = browserStorage("localStorage");

/** The views that the sidebar links to. The timeline belongs to a conversation, which links to it. */
const LINKED = ["inbox", "tools", "operations", "api"] as const;

/**
 * The page: the sidebar, and the view of the address. The chat shows the conversation of the address, or the last one; it
 * stays connected while another view is shown. All views share one token, and one dialog asks for it.
 */
export class AppElement extends LitElement {
  static override styles = appStyles;
  static override properties = {
    route: { state: true },
    sessionId: { state: true },
    heading: { state: true },
    view: { state: true },
    problem: { state: true },
    isMenuOpen: { state: true },
    theme: { reflect: true },
  };
  declare route: Route;
  /** The conversation that is open. Empty for a new one. */
  declare sessionId: string;
  /** The title of the conversation. Empty if it is not known. */
  declare heading: string;
  /** The view beside the chat, if it is shown and loaded. */
  declare view: ViewElement | null;
  declare problem: string;
  declare isMenuOpen: boolean;
  /** Light or dark. Empty for the preference of the system. */
  declare theme: Theme;

  readonly #badge = new BadgeController(this, (requests) => this.#notify(requests));
  readonly #signIn = new SignInController(this, {
    onSignIn: () => {
      this.#reloadView();
      this.#chat?.reconnect();
    },
    onSignOut: () => {
      storage.set(SESSION, null);
      this.#sidebar?.clear();
      this.#badge.clear();
      void this.#go(route());
    },
  });
  readonly #shortcuts = new Shortcuts();
  #tabs: TabChannel | null = null;
  #loaded: View = "chat";

  constructor() {
    super();
    this.route = parseRoute(location.search);
    this.sessionId = this.route.session || storage.get(SESSION) || "";
    this.heading = "";
    this.view = null;
    this.problem = "";
    this.isMenuOpen = false;
    this.theme = chosenTheme();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#tabs = new TabChannel(this.#onTab);
    document.documentElement.lang = texts.language;
    if (texts.direction === "rtl") document.documentElement.dir ||= texts.direction;
    globalThis.addEventListener("popstate", this.#onPopState);
    globalThis.addEventListener("keydown", this.#onKey);
    void this.#showView();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#tabs?.close();
    globalThis.removeEventListener("popstate", this.#onPopState);
    globalThis.removeEventListener("keydown", this.#onKey);
  }

  override render(): TemplateResult {
    const theme = this.theme || nothing;
    const isChat = this.route.view === "chat";
    return html`
      <nav aria-label=${texts.skipLinks}>
        <button type="button" class="skip" @click=${this.#skip}>${isChat ? texts.skip : texts.skipToContent}</button>
      </nav>
      <callboard-sidebar
        theme=${theme}
        class=${this.isMenuOpen ? "open" : ""}
        id="sidebar"
        current=${this.sessionId}
        ?elsewhere=${!isChat}
        @focusout=${this.#onLeave}
        @callboard-open-session=${this.#onOpen}
        @callboard-sessions-change=${() => this.#tabs?.share("sessions")}
        @callboard-current-change=${this.#onCurrent}
      >
        <div slot="views" class="views">${LINKED.map((view) => this.#viewLink(view))}</div>
        <div slot="bottom" class="settings">
          <button type="button" class="quiet" id="theme" @click=${this.#nextTheme}>${texts.theme[this.theme]}</button>
          <button type="button" class="quiet" id="keys" @click=${this.#showShortcuts}>${texts.shortcuts}</button>
          ${this.#signIn.hasToken ? this.#signOutButton() : nothing}
        </div>
      </callboard-sidebar>
      ${this.isMenuOpen ? html`<div class="shade" @click=${() => this.#closeMenu()}></div>` : nothing}
      <callboard-chat
        ?hidden=${!isChat}
        theme=${theme}
        session-id=${this.sessionId}
        .shownCall=${isChat ? this.route.call : ""}
        .shownRequest=${isChat ? this.route.request : ""}
        @callboard-ready=${this.#onReady}
        @callboard-session-change=${this.#onSession}
        @callboard-waiting-change=${this.#onWaiting}
        @callboard-activity=${() => this.#tabs?.share("sessions")}
        @callboard-denied=${this.#signIn.ask}
        @callboard-navigate=${this.#onNavigate}
      >
        ${isChat ? this.#menuButton() : nothing}
        <h1 slot="title" tabindex="-1" dir="auto">${this.#title}</h1>
        ${this.sessionId === "" ? nothing : this.#timelineLink()}
      </callboard-chat>
      <div
        class="view"
        ?hidden=${isChat}
        @callboard-navigate=${this.#onNavigate}
        @callboard-answered=${() => this.#tabs?.share("requests")}
      >
        ${this.view} ${this.problem === "" ? nothing : html`<p class="notice error" role="alert">${this.problem}</p>`}
      </div>
      <callboard-shortcuts></callboard-shortcuts>
      <callboard-token-dialog @callboard-token=${this.#signIn.signIn}></callboard-token-dialog>
    `;
  }

  get #title(): string {
    return this.sessionId === "" ? texts.newConversation.join("") : this.heading || texts.conversation;
  }

  #menuButton() {
    return html`<button
      slot="start"
      type="button"
      class="quiet menu"
      id="menu"
      aria-controls="sidebar"
      aria-expanded=${this.isMenuOpen}
      aria-label=${texts.menu}
      @click=${() => this.#toggleMenu()}
    >
      ☰
    </button>`;
  }

  #timelineLink() {
    const to = route({ view: "timeline", session: this.sessionId });
    return html`<a
      slot="end"
      class="timeline-link"
      id="timeline-link"
      href=${routeQuery(to)}
      @click=${(event: MouseEvent) => this.#follow(event, to)}
      >${texts.views.timeline}</a
    >`;
  }

  #viewLink(view: (typeof LINKED)[number]) {
    const count = view === "inbox" ? this.#badge.count : 0;
    return html`<a
      href=${routeQuery({ view })}
      data-view=${view}
      aria-current=${this.route.view === view ? "page" : nothing}
      @click=${(event: MouseEvent) => this.#follow(event, route({ view }))}
      >${texts.views[view]}${
        count > 0
          ? html`<span class="badge" aria-label=${texts.waiting(countText(count))}>${countText(count)}</span>`
          : nothing
      }</a
    >`;
  }

  #signOutButton() {
    return html`<button type="button" class="quiet" id="sign-out" @click=${this.#signIn.signOut}>${texts.signOut}</button>`;
  }

  override updated(): void {
    document.title = titleWith(this.#badge.count, texts.appName);
    if (this.view === null) return;
    this.view.route = this.route;
    if (this.theme === "") this.view.removeAttribute("theme");
    else this.view.setAttribute("theme", this.theme);
    render(this.#menuButton(), this.view);
  }

  // Navigation

  #follow(event: MouseEvent, to: Route): void {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab or window
    event.preventDefault();
    void this.#go(to);
  }

  /** Show what the address says, and remember it in the history of the browser. */
  async #go(to: Route): Promise<void> {
    this.isMenuOpen = false;
    const query = routeQuery(to);
    if (query !== location.search) history.pushState(null, "", query);
    await this.#show(to);
  }

  async #show(to: Route): Promise<void> {
    this.route = to;
    if (to.view === "chat" && to.session === "") this.#chat?.startConversation();
    else if (to.session !== "") this.sessionId = to.session;
    const isLink = to.call !== "" || to.request !== "";
    const isNewView = to.view !== this.#loaded; // within a view, the view itself moves the focus
    await this.#showView();
    if (to.view !== "chat") return isNewView ? this.view?.focus() : undefined;
    if (isLink) this.#chat?.showLink();
    else if (to.session !== "") this.renderRoot.querySelector<HTMLElement>("h1")?.focus();
  }

  /** Load the view of the route, and draw it. */
  async #showView(): Promise<void> {
    const { view } = this.route;
    if (view !== this.#loaded) {
      this.#loaded = view;
      this.view = null;
      this.problem = "";
      try {
        const made = view === "chat" ? null : await makeView(view);
        if (this.#loaded === view) this.view = made;
      } catch {
        this.problem = texts.viewNotLoaded;
        this.#loaded = "chat"; // so that it can be tried again
      }
    }
    await this.updateComplete;
    await this.view?.updateComplete;
  }

  /** Make the view anew, with another token. */
  #reloadView(): void {
    if (this.view === null) return;
    this.#loaded = "chat";
    void this.#showView();
  }

  get #chat(): ChatElement | null {
    return this.renderRoot.querySelector("callboard-chat");
  }

  get #sidebar(): SidebarElement | null {
    return this.renderRoot.querySelector("callboard-sidebar");
  }

  readonly #skip = () => {
    if (this.view === null) this.#chat?.focus();
    else this.view.skipToContent();
  };

  readonly #onOpen = ({ sessionId }: OpenSessionEvent) => {
    void this.#go(route({ session: sessionId ?? "" }));
  };

  readonly #onNavigate = ({ to }: NavigateEvent) => this.#go(route(to));

  readonly #onPopState = () => void this.#show(parseRoute(location.search));

  #toggleMenu(): void {
    if (this.isMenuOpen) return this.#closeMenu();
    this.isMenuOpen = true;
    void this.updateComplete.then(() => this.#sidebar?.focus());
  }

  /** The focus leaves the menu, which is over the page. */
  readonly #onLeave = ({ relatedTarget: to }: FocusEvent) => {
    if (to instanceof Node && !this.#sidebar?.contains(to)) this.isMenuOpen = false;
  };

  #closeMenu(): void {
    this.isMenuOpen = false;
    void this.updateComplete.then(() => (this.view ?? this.renderRoot).querySelector<HTMLElement>("#menu")?.focus());
  }

  // The conversation, and the lists

  /** Keep the address and the list in step with the chat. */
  readonly #onSession = ({ sessionId, exists }: SessionChangeEvent) => {
    this.#badge.leaveConversation();
    this.sessionId = exists ? sessionId : "";
    storage.set(SESSION, exists ? sessionId : null);
    if (this.route.view !== "chat") return;
    const before = this.route.session;
    const session = exists ? sessionId : "";
    if (session === before) return;
    this.route = route({ session });
    const query = session === "" ? location.pathname : routeQuery(this.route);
    if (before === "") history.replaceState(null, "", query);
    else history.pushState(null, "", query);
  };

  readonly #onReady = () => {
    this.#sidebar?.refresh();
    this.#badge.start();
  };

  readonly #onCurrent = ({ sessionId, title: name }: CurrentChangeEvent) => {
    if (sessionId === this.sessionId) this.heading = name;
  };

  readonly #onWaiting = ({ requests }: WaitingChangeEvent) => {
    this.#badge.setOpenHere(requests);
    this.#tabs?.share("requests");
  };

  readonly #onTab = (change: Change) => {
    if (!pageToken.isDenied) this.#sidebar?.refresh();
    if (change === "requests") this.#badge.refresh();
  };

  /** Tell the person about requests that have arrived while the page was in the background. */
  #notify(requests: readonly InboxRequest[]): void {
    if (!document.hidden && document.hasFocus()) return;
    for (const { id, sessionId, tool } of requests) {
      const open = () => this.#go(route({ session: sessionId, request: id }));
      notifications.show(id, texts.appName, texts.callWaits(title(tool)), open);
    }
  }

  // Controls

  readonly #nextTheme = () => {
    this.theme = chooseNext(this.theme);
  };

  readonly #showShortcuts = () => {
    this.renderRoot.querySelector<ShortcutsElement>("callboard-shortcuts")?.open();
  };

  readonly #onKey = (event: KeyboardEvent) => {
    const isWriting = event
      .composedPath()
      .some((each) => each instanceof HTMLElement && each.matches("input, textarea, select, dialog[open]"));
    const action = this.#shortcuts.read(event, isWriting);
    if (action === null) return;
    if (action === "close") {
      if (this.isMenuOpen) this.#closeMenu();
      return;
    }
    event.preventDefault();
    if (action === "shortcuts") this.#showShortcuts();
    else if (action === "new") void this.#go(route());
    else if (action === "message" || action === "chat") void this.#writeMessage();
    else void this.#go(route({ view: action }));
  };

  async #writeMessage(): Promise<void> {
    if (this.route.view !== "chat") await this.#go(route({ session: this.sessionId }));
    this.#chat?.focus();
  }
}

customElements.define("callboard-app", AppElement);
