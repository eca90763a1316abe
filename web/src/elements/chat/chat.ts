import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { ApiClient } from "../../api/api-client.ts";
import type { AnswerEvent } from "../../events/answer-event.ts";
import type { CancelCallEvent } from "../../events/cancel-call-event.ts";
import type { DiscardMessageEvent } from "../../events/discard-message-event.ts";
import { ReadyEvent } from "../../events/ready-event.ts";
import type { RetryMessageEvent } from "../../events/retry-message-event.ts";
import type { SendEvent } from "../../events/send-event.ts";
import { SessionChangeEvent } from "../../events/session-change-event.ts";
import type { ShowCallEvent } from "../../events/show-call-event.ts";
import type { TokenEvent } from "../../events/token-event.ts";
import { WaitingChangeEvent } from "../../events/waiting-change-event.ts";
import { waitingCalls } from "../../state/conversation.ts";
import { SessionController } from "../../state/session-controller.ts";
import { texts } from "../../texts.ts";
import type { CallElement } from "../call/call.ts";
import "../composer/composer.ts";
import type { ComposerElement } from "../composer/composer.ts";
import "../connection/connection.ts";
import "../outbox/outbox.ts";
import "../timeline/timeline.ts";
import "../token-dialog/token-dialog.ts";
import type { TokenDialogElement } from "../token-dialog/token-dialog.ts";
import "../welcome/welcome.ts";
import { ScrollController } from "./scroll-controller.ts";
import { chatStyles } from "./styles.ts";

/**
 * A conversation with the model of a Callboard server: messages, the cards of calls, approvals and forms.
 *
 * @slot start - Controls at the start of the header.
 * @slot title - The title in the header, by default the name of the program.
 * @slot end - Controls at the end of the header.
 * @fires callboard-ready - It has loaded its conversation, or is ready for a new one.
 * @fires callboard-session-change - It shows another conversation, or its conversation was created.
 * @fires callboard-waiting-change - The number of requests that wait for the person has changed.
 */
export class ChatElement extends LitElement {
  static override styles = chatStyles;
  static override properties = {
    server: {},
    sessionId: { attribute: "session-id" },
    token: {},
    unseen: { state: true },
    isAway: { state: true },
    announcement: { state: true },
  };
  /** The address of the server. Empty for the server of the page. */
  declare server: string;
  /** The conversation to show. Empty for a new one, which is created with its first message. */
  declare sessionId: string;
  /** A token for the server. Without one, the person is asked if the server requires it. */
  declare token: string;
  /** Where the first request outside of the visible part is: ↑, ↓ or nothing. */
  declare unseen: string;
  /** Whether the reader has scrolled away from the end. */
  declare isAway: boolean;
  declare announcement: string;
  readonly #scroll = new ScrollController(
    this,
    () => this.#find("#scroller"),
    () => this.#look(),
  );
  readonly #session = new SessionController(this, {
    onSession: (sessionId, exists) => {
      this.sessionId = exists ? sessionId : "";
      this.dispatchEvent(new SessionChangeEvent(sessionId, exists));
    },
    onDenied: (wasRefused) => void this.#find<TokenDialogElement>("callboard-token-dialog")?.ask(wasRefused),
    onAnnouncement: (text) => (this.announcement = text),
  });
  #shown: string | null = null; // the conversation that the session was opened for
  #waiting = 0;
  #wasReady = false;

  constructor() {
    super();
    this.server = "";
    this.sessionId = "";
    this.token = "";
    this.unseen = "";
    this.isAway = false;
    this.announcement = "";
  }

  /** Start a new conversation. It is created with its first message. */
  startConversation(): void {
    this.#session.open(null);
    this.focus();
  }

  /** Focus the field for messages. */
  override focus(): void {
    this.#find<ComposerElement>("callboard-composer")?.focus();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#shown = null;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.requestUpdate();
  }

  override render(): TemplateResult {
    const { conversation, connection, outbox, tools } = this.#session;
    const unsent = outbox.items.filter(({ state }) => state !== "kept");
    const isEmpty = this.#session.isReady && conversation.items.length === 0 && unsent.length === 0;
    return html`
      <header class="top">
        <slot name="start"></slot>
        <slot name="title"><h1>${texts.appName}</h1></slot>
        <callboard-connection .connection=${connection} @callboard-reconnect=${() => this.#session.reconnect()}></callboard-connection>
        <slot name="end"></slot>
        <button type="button" class="quiet" id="new-session" @click=${this.startConversation}>${texts.newConversation[0]}<span class="wide">${texts.newConversation[1]}</span></button>
      </header>
      <div id="scroller" role="main" tabindex="-1">
        <div class="content" @callboard-send=${this.#send} @callboard-answer=${this.#answer} @callboard-cancel-call=${this.#cancel}
          @callboard-request-closed=${() => this.focus()} @callboard-retry-turn=${this.#retryTurn} @callboard-show-call=${this.#showCall}>
          ${isEmpty ? html`<callboard-welcome .tools=${tools}></callboard-welcome>` : nothing}
          ${this.#session.earlier === null ? nothing : this.#earlier()}
          <callboard-timeline .conversation=${conversation} .tools=${tools} .answers=${this.#session.answers} .cancelling=${this.#session.cancelling}></callboard-timeline>
          <callboard-outbox .items=${outbox.items} @callboard-retry-message=${this.#retry} @callboard-discard-message=${this.#discard}></callboard-outbox>
        </div>
      </div>
      <footer class="bottom">
        ${this.#buttons()}
        <p class="notice error" id="error" role="alert" ?hidden=${this.#session.error === ""}>${this.#session.error}</p>
        <callboard-composer .isProcessing=${conversation.isProcessing} .draftKey=${this.#session.sessionId}
          @callboard-send=${this.#send} @callboard-stop=${() => this.#session.stop()}></callboard-composer>
      </footer>
      <p class="hidden" id="announcer" role="status" aria-live="polite">${this.announcement}</p>
      <callboard-token-dialog @callboard-token=${this.#signIn}></callboard-token-dialog>
    `;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("server") && !changed.has("token")) return;
    this.#session.api = new ApiClient(this.server);
    if (this.token !== "") this.#session.api.token.give(this.token);
    this.#shown = null;
  }

  override updated(): void {
    const isOther = this.sessionId !== "" && this.sessionId !== this.#session.sessionId;
    if (this.isConnected && (this.#shown === null || isOther)) {
      this.#shown = this.sessionId;
      this.#session.open(this.sessionId === "" ? null : this.sessionId);
    }
    this.#look();
    if (this.#session.isReady && !this.#wasReady) this.dispatchEvent(new ReadyEvent());
    this.#wasReady = this.#session.isReady;
    const count = this.#session.conversation.requests.size;
    if (count !== this.#waiting) this.dispatchEvent(new WaitingChangeEvent((this.#waiting = count)));
  }

  #earlier() {
    const load = () => {
      this.#scroll.keepPlace();
      void this.#session.loadEarlier();
    };
    return html`<button type="button" class="quiet" id="earlier" ?disabled=${this.#session.isLoadingEarlier} @click=${load}>${texts.earlierMessages}</button>`;
  }

  #buttons() {
    const count = this.#session.conversation.requests.size;
    return html`<div class="floating">
      ${
        this.unseen === ""
          ? nothing
          : html`<button type="button" class="waiting" id="waiting" @click=${this.#showRequest}>${texts.waitingForYou(count, this.unseen)}</button>`
      }
      ${!this.isAway ? nothing : html`<button type="button" class="jump" id="jump" @click=${() => this.#scroll.toEnd("smooth")}>${texts.newest}</button>`}
    </div>`;
  }

  /** Find out what is outside of the visible part. */
  #look(): void {
    this.unseen = this.#unseenRequest()?.direction ?? "";
    this.isAway = !this.#scroll.isAtEnd;
  }

  #unseenRequest(): { call: CallElement; direction: string } | null {
    const waiting = waitingCalls(this.#session.conversation);
    const frame = waiting.length > 0 ? this.#find("#scroller")?.getBoundingClientRect() : undefined;
    if (frame === undefined) return null;
    for (const { key } of waiting) {
      const call = this.#find<CallElement>(`callboard-call[data-key="${key}"]`);
      const place = call?.request?.getBoundingClientRect();
      if (call && place && place.bottom <= frame.top + 20) return { call, direction: "↑" };
      if (call && place && place.top >= frame.bottom - 20) return { call, direction: "↓" };
    }
    return null;
  }

  readonly #showRequest = () => {
    const call = this.#unseenRequest()?.call;
    call?.scrollIntoView({ block: "center", behavior: "smooth" });
    call?.request?.focus();
  };

  readonly #send = ({ text }: SendEvent) => {
    this.#session.send(text);
    void this.updateComplete.then(() => this.#scroll.toEnd());
  };
  readonly #answer = ({ request, answer }: AnswerEvent) => void this.#session.answer(request, answer);
  readonly #cancel = ({ executionId }: CancelCallEvent) => void this.#session.cancel(executionId);
  readonly #retry = ({ id }: RetryMessageEvent) => this.#session.outbox.retry(id);
  readonly #discard = ({ id }: DiscardMessageEvent) => this.#session.outbox.discard(id);
  readonly #retryTurn = () => {
    const last = this.#session.conversation.items.findLast((item) => item.type === "message" && item.role === "user");
    if (last?.type === "message") this.#session.send(last.text);
  };
  readonly #showCall = ({ executionId }: ShowCallEvent) => {
    const card = this.#find(`.card[data-execution="${CSS.escape(executionId)}"]`);
    card?.scrollIntoView({ block: "center", behavior: "smooth" });
    card?.classList.add("shown");
    card?.addEventListener("animationend", () => card.classList.remove("shown"), { once: true });
  };
  readonly #signIn = ({ token, remember }: TokenEvent) => {
    this.#session.api.token.set(token, remember);
    this.#session.reconnect();
  };

  #find<T extends Element = HTMLElement>(selector: string): T | null {
    return this.renderRoot.querySelector<T>(selector);
  }
}

customElements.define("callboard-chat", ChatElement);
