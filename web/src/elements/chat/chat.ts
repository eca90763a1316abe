import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { ApiClient } from "../../api/api-client.ts";
import { TokenStore } from "../../api/token-store.ts";
import { ActivityEvent } from "../../events/activity-event.ts";
import type { AnswerEvent } from "../../events/answer-event.ts";
import type { CancelCallEvent } from "../../events/cancel-call-event.ts";
import type { CopyLinkEvent } from "../../events/copy-link-event.ts";
import { DeniedEvent } from "../../events/denied-event.ts";
import type { DiscardMessageEvent } from "../../events/discard-message-event.ts";
import type { EditMessageEvent } from "../../events/edit-message-event.ts";
import { ReadyEvent } from "../../events/ready-event.ts";
import type { PageRunEvent } from "../../events/page-run-event.ts";
import type { RetryMessageEvent } from "../../events/retry-message-event.ts";
import type { SendEvent } from "../../events/send-event.ts";
import { SessionChangeEvent } from "../../events/session-change-event.ts";
import type { ShowCallEvent } from "../../events/show-call-event.ts";
import type { TokenEvent } from "../../events/token-event.ts";
import { WaitingChangeEvent } from "../../events/waiting-change-event.ts";
import type { PageToolChoice } from "../../page-tools/index.ts";
import { type Call, waitingCalls } from "../../state/conversation.ts";
import { needsPerson } from "../../state/page-run.ts";
import { PageToolLoader } from "../../state/page-tool-loader.ts";
import { routeQuery } from "../../state/route.ts";
import { SessionController } from "../../state/session-controller.ts";
import { texts } from "../../texts.ts";
import type { CallElement } from "../call/call.ts";
import "../composer/composer.ts";
import type { ComposerElement } from "../composer/composer.ts";
import "../connection/connection.ts";
import "../outbox/outbox.ts";
import { copyText } from "../shared/copy.ts";
import "../timeline/timeline.ts";
import type { TimelineElement } from "../timeline/timeline.ts";
import "../token-dialog/token-dialog.ts";
import type { TokenDialogElement } from "../token-dialog/token-dialog.ts";
import "../welcome/welcome.ts";
import { highlight, type Link, LinkController } from "./link-controller.ts";
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
 * @fires callboard-waiting-change - The requests that wait for the person have changed.
 * @fires callboard-activity - Something has happened in the conversation, such as a new message.
 * @fires callboard-denied - The server requires a token. The person is asked for it, unless the default is prevented.
 */
export class ChatElement extends LitElement {
  static override styles = chatStyles;
  static override properties = {
    server: {},
    sessionId: { attribute: "session-id" },
    token: {},
    toolRegistry: { attribute: false },
    withoutPageTools: { type: Boolean, attribute: "without-page-tools" },
    shownCall: { attribute: false },
    shownRequest: { attribute: false },
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
  /** The tools of your page that the model may call. By default those of `globalToolRegistry`. */
  declare toolRegistry: PageToolChoice["registry"];
  /** Whether the model does not get the tools that ship with the chat, such as the one that copies. */
  declare withoutPageTools: boolean;
  /** The execution to scroll to, as a link to it says. */
  declare shownCall: string;
  /** The request to scroll to, as a link to it says. */
  declare shownRequest: string;
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
    onDenied: (wasRefused) => {
      if (!this.dispatchEvent(new DeniedEvent(wasRefused))) return;
      void this.#find<TokenDialogElement>("callboard-token-dialog")?.ask(wasRefused);
    },
    onAnnouncement: (text) => (this.announcement = text),
  });
  readonly #tools = new PageToolLoader(this, this.#session);
  readonly #link = new LinkController(this, this.#session);
  #shown: string | null = null; // the conversation that the session was opened for
  #waiting = "";
  #activity = "";
  #wasReady = false;

  constructor() {
    super();
    this.server = "";
    this.sessionId = "";
    this.token = "";
    this.toolRegistry = null;
    this.withoutPageTools = false;
    this.shownCall = "";
    this.shownRequest = "";
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

  /** What the address names, for the controller that shows it. */
  get link(): Link {
    return { session: this.sessionId, call: this.shownCall, request: this.shownRequest };
  }

  /** Scroll to the call or the request of the address again. */
  showLink(): void {
    this.#link.again();
  }

  /** Connect again, for example with another token. */
  reconnect(): void {
    this.#session.reconnect();
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
        <div
          class="content"
          @callboard-send=${this.#send}
          @callboard-answer=${this.#answer}
          @callboard-cancel-call=${this.#cancel}
          @callboard-page-run=${this.#choose}
          @callboard-request-closed=${() => this.focus()}
          @callboard-retry-turn=${this.#retryTurn}
          @callboard-show-call=${this.#showCall}
          @callboard-edit-message=${this.#edit}
          @callboard-copy-link=${this.#copyLink}
        >
          ${isEmpty ? html`<callboard-welcome .tools=${tools}></callboard-welcome>` : nothing}
          ${this.#session.earlier === null ? nothing : this.#earlier()}
          <callboard-timeline .conversation=${conversation} .tools=${tools} .answers=${this.#session.answers} .cancelling=${this.#session.cancelling} .runs=${this.#tools.runs}></callboard-timeline>
          <callboard-outbox .items=${outbox.items} @callboard-retry-message=${this.#retry} @callboard-discard-message=${this.#discard}></callboard-outbox>
        </div>
      </div>
      <footer class="bottom">
        ${this.#buttons()}
        <p class="notice error" id="error" role="alert" ?hidden=${this.#session.error === ""}>${this.#session.error}</p>
        ${this.#link.notice === "" ? nothing : this.#linkNotice()}
        <callboard-composer .isProcessing=${conversation.isProcessing} .draftKey=${this.#session.sessionId}
          @callboard-send=${this.#send} @callboard-stop=${() => this.#session.stop()}></callboard-composer>
      </footer>
      <p class="hidden" id="announcer" role="status" aria-live="polite">${this.announcement}</p>
      <callboard-token-dialog @callboard-token=${this.#signIn}></callboard-token-dialog>
    `;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    this.#tools.choice = { registry: this.toolRegistry ?? null, hasShipped: !this.withoutPageTools };
    if (!changed.has("server") && !changed.has("token")) return;
    this.#session.api = this.token === "" ? new ApiClient(this.server) : new ApiClient(this.server, new TokenStore());
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
    const waiting = this.#waitingCalls().flatMap(({ request }) => (request === null ? [] : [request.id]));
    if (waiting.join() !== this.#waiting) this.dispatchEvent(new WaitingChangeEvent(waiting));
    this.#waiting = waiting.join();
    const { isProcessing, items } = this.#session.conversation;
    const activity = `${isProcessing} ${items.at(-1)?.key}`; // a turn may begin and end between two updates
    if (activity !== this.#activity) this.dispatchEvent(new ActivityEvent());
    this.#activity = activity;
  }

  #linkNotice() {
    return html`<p class="notice" id="link-notice" role="status">
      ${this.#link.notice}
      <button type="button" class="quiet" @click=${() => this.#link.dismiss()}>${texts.close}</button>
    </p>`;
  }

  #earlier() {
    const load = () => {
      this.#scroll.keepPlace();
      void this.#session.loadEarlier();
    };
    return html`<button type="button" class="quiet" id="earlier" ?disabled=${this.#session.isLoadingEarlier} @click=${load}>${texts.earlierMessages}</button>`;
  }

  #buttons() {
    const count = this.#waitingCalls().length;
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

  /** The calls that wait for the person, oldest first. */
  #waitingCalls(): Call[] {
    const { runs } = this.#tools;
    return waitingCalls(this.#session.conversation).filter((call) =>
      needsPerson(call, runs.get(call.executionId ?? "")),
    );
  }

  #unseenRequest(): { call: CallElement; direction: string } | null {
    const waiting = this.#waitingCalls();
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
  readonly #choose = ({ requestId, choice }: PageRunEvent) => this.#tools.choose(requestId, choice);
  readonly #cancel = ({ executionId }: CancelCallEvent) => void this.#session.cancel(executionId);
  readonly #retry = ({ id }: RetryMessageEvent) => this.#session.outbox.retry(id);
  readonly #discard = ({ id }: DiscardMessageEvent) => this.#session.outbox.discard(id);
  readonly #retryTurn = () => void this.#session.retryTurn();
  readonly #edit = ({ text }: EditMessageEvent) => this.#find<ComposerElement>("callboard-composer")?.fill(text);
  readonly #showCall = async ({ executionId }: ShowCallEvent) => {
    const card = await this.#find<TimelineElement>("callboard-timeline")?.reveal(executionId);
    card?.scrollIntoView({ block: "center", behavior: "smooth" });
    if (card) highlight(card);
  };
  readonly #copyLink = (event: CopyLinkEvent) => {
    const server = this.server === "" ? globalThis.location.origin : this.server;
    const query = routeQuery({ session: this.#session.sessionId, call: event.executionId });
    event.copied = copyText(new URL(query, server).href);
    void event.copied.then((isCopied) => (this.announcement = isCopied ? texts.linkCopied : ""));
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
