import { html, LitElement, type TemplateResult } from "lit";
import type { SessionChangeEvent } from "../../events/session-change-event.ts";
import type { WaitingChangeEvent } from "../../events/waiting-change-event.ts";
import { browserStorage } from "../../state/storage.ts";
import { texts } from "../../texts.ts";
import "../chat/chat.ts";
import type { ChatElement } from "../chat/chat.ts";
import { appStyles } from "./styles.ts";

const SESSION = "callboard.session";
const storage = browserStorage("localStorage");

/** The page: the conversation of the address, or the last one. */
export class AppElement extends LitElement {
  static override styles = appStyles;
  static override properties = { sessionId: { state: true } };
  declare sessionId: string;

  constructor() {
    super();
    this.sessionId = new URLSearchParams(location.search).get("session") ?? storage.get(SESSION) ?? "";
  }

  override render(): TemplateResult {
    return html`
      <a class="skip" href="#message" @click=${this.#skip}>${texts.skip}</a>
      <callboard-chat
        session-id=${this.sessionId}
        @callboard-session-change=${this.#onSession}
        @callboard-waiting-change=${this.#onWaiting}
      ></callboard-chat>
    `;
  }

  get #chat(): ChatElement | null {
    return this.renderRoot.querySelector("callboard-chat");
  }

  readonly #skip = (event: Event) => {
    event.preventDefault();
    this.#chat?.focus();
  };

  readonly #onSession = ({ sessionId, exists }: SessionChangeEvent) => {
    this.sessionId = exists ? sessionId : "";
    storage.set(SESSION, exists ? sessionId : null);
    const url = new URL(location.href);
    if (exists) url.searchParams.set("session", sessionId);
    else url.searchParams.delete("session");
    if (url.href !== location.href) history.replaceState(null, "", url);
  };

  readonly #onWaiting = ({ count }: WaitingChangeEvent) => {
    document.title = count > 0 ? `(${count}) ${texts.appName}` : texts.appName;
  };
}

customElements.define("callboard-app", AppElement);
