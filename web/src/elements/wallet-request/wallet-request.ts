import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Schema } from "../../api/wire.ts";
import { AnswerEvent } from "../../events/answer-event.ts";
import type { OpenRequest } from "../../state/conversation.ts";
import type { AnswerState } from "../../state/request-answers.ts";
import { texts as pageTexts } from "../../texts.ts";
import { walletTexts as texts } from "../../texts/wallet.ts";
import type { Wallet } from "../../wallet/discovery.ts";
import { networkOf } from "../../wallet/networks.ts";
import type { WalletAnswer } from "../../wallet/sent-store.ts";
import type { Phase, WalletTask } from "../../wallet/wallet-task.ts";
import type { WalletConnection } from "../../wallet/wallet-connection.ts";
import { WalletTasks } from "../../wallet/wallet-tasks.ts";
import "../form/form.ts";
import type { FormElement } from "../form/form.ts";
import { Part } from "../part/part.ts";
import { copyText } from "../shared/copy.ts";
import { walletStyles } from "./styles.ts";
import { transactionDetails } from "./transaction-details.ts";
import { icon, nameOf, named, shortened } from "./wallet-label.ts";
import { nameOfNetwork, statusOf } from "./wallet-status.ts";

const REASON: Schema = {
  type: "object",
  properties: { reason: { type: "string", description: pageTexts.reasonHint } },
};
const FIRST_RETRY = 1000; // milliseconds
const MAX_RETRY = 30_000;

/** One for the page, so that a request is sent once although several elements show it. */
const tasks = new WalletTasks();

/**
 * A request to the person's wallet: the transaction, the wallet that signs it, its confirmations, and the answer.
 *
 * @fires callboard-answer - The outcome of the transaction is known, or the person answers by hand.
 */
export class WalletRequestElement extends Part {
  static override properties = {
    request: { attribute: false },
    answer: { attribute: false },
    isDeclining: { state: true },
    isReported: { state: true },
    isCopied: { state: true },
    sentNothing: { state: true },
    problem: { state: true },
  };
  declare request: OpenRequest;
  /** The answer that is being sent, or that was refused. */
  declare answer: AnswerState | undefined;
  declare isDeclining: boolean;
  /** Whether the server has accepted the outcome. */
  declare isReported: boolean;
  declare isCopied: boolean;
  /** Whether the account has sent nothing since the wallet was asked, or null if that is not known. */
  declare sentNothing: boolean | null;
  declare problem: string;
  #task: WalletTask | null = null;
  #taskId = "";
  #phase: Phase["kind"] = "idle";
  #retry: ReturnType<typeof setTimeout> | undefined;
  #delay = FIRST_RETRY;
  #isByHand = false; // the form was opened, and is not closed by itself
  #keepsFocus = false; // a button was pressed, and the next one gets the focus
  #isSent = false; // the outcome was given to the page, which tells the server

  constructor() {
    super();
    this.isDeclining = false;
    this.isReported = false;
    this.isCopied = false;
    this.sentNothing = null;
    this.problem = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    adoptStyles(this.getRootNode());
    this.#open();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#close();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("request") && this.isConnected && this.#taskId !== this.request.id) this.#open();
    if (!changed.has("answer") || !this.#isSent || this.answer === undefined || this.answer.isBusy) return;
    this.#isSent = false;
    if (this.answer.problem === "") this.isReported = true;
    else this.#retryLater();
  }

  override updated(): void {
    const kind = this.#task?.phase.kind ?? "idle";
    if (kind !== this.#phase && kind === "unsure") void this.#look();
    this.#phase = kind;
    if (kind === "answering" && this.#retry === undefined) this.#report();
    if (this.#keepsFocus && (this.focused?.matches(":disabled, .wallet") ?? true)) this.#moveFocus();
  }

  /** Focus the next button, or the transaction while there is nothing to do. */
  #moveFocus(): void {
    const [button, whole] = [".choices button", ".wallet"].map((each) => this.querySelector<HTMLElement>(each));
    (button?.matches(":enabled") ? button : whole)?.focus({ preventScroll: true });
  }

  readonly #onClick = ({ target }: Event) => {
    if ((target as Element).closest(".choices button")) this.#keepsFocus = true;
  };

  readonly #onFocusOut = ({ relatedTarget }: FocusEvent) => {
    if (relatedTarget instanceof Node && !this.contains(relatedTarget)) this.#keepsFocus = false;
  };

  override render(): TemplateResult | typeof nothing {
    const task = this.#task;
    if (task === null) return nothing;
    const { transaction, connection, fees, phase } = task;
    const chainId = transaction.chainId ?? connection?.chainId ?? null;
    const details = transactionDetails(transaction, {
      network: chainId === null ? null : networkOf(chainId),
      sender: connection?.senderOf(transaction) ?? null,
      fees,
      isEstimating: connection?.stepTo(transaction) === "ready" && phase.kind === "idle",
    });
    return html`<div class="wallet" tabindex="-1" @click=${this.#onClick} @focusout=${this.#onFocusOut}>
      <p class="question">${texts.question}</p>
      ${details}
      <p class="state" role="status">${this.isDeclining ? "" : statusOf(task, tasks, this.sentNothing, this.#reportStatus)}</p>
      ${this.#content(task)}
    </div>`;
  }

  #content(task: WalletTask) {
    const { phase } = task;
    switch (phase.kind) {
      case "idle":
        return this.isDeclining ? this.#declineForm() : this.#idle(task);
      case "asking":
        return this.#bar(null);
      case "elsewhere":
        return phase.hash === null ? nothing : this.#hash(phase.hash);
      case "unsure":
        return this.#unsure(task);
      case "following":
        return this.#following(task, phase);
      case "replaced":
        return html`${this.#hash(phase.hash)} ${this.#byHand(true)}`;
      case "answering":
        return this.#answering(phase.answer);
    }
  }

  // Before the wallet is asked

  #idle(task: WalletTask) {
    const error = task.connection?.error ?? null;
    const problem = task.problem || (error === null ? "" : texts.error(error.kind, error.message));
    const canSend = task.transaction.invalid.length === 0;
    return html`<p class="notice error" role="alert" ?hidden=${problem === ""}>${problem}</p>
      ${canSend ? this.#wallet(task) : nothing}
      ${canSend && tasks.wallets.length > 0 ? nothing : html`<div class="choices">${this.#declineButton()}</div>`}
      ${this.#byHand(!canSend || (tasks.wallets.length === 0 && !tasks.isSearching))}`;
  }

  #wallet(task: WalletTask) {
    const { connection } = task;
    const { wallets } = tasks;
    const wallet = connection?.wallet ?? (wallets.length === 1 ? wallets[0] : undefined);
    if (wallet !== undefined) return this.#connected(task, wallet, connection);
    if (wallets.length === 0) return nothing;
    return html`<div class="choices" role="group" aria-label=${texts.chooseWallet}>
        ${wallets.map((each) => html`<button type="button" ?disabled=${this.#isBusy} @click=${() => this.#use(each)}>${named(each)}</button>`)}
        ${this.#declineButton()}
      </div>
      <p class="hint">${texts.connectHint}</p>`;
  }

  #connected(task: WalletTask, wallet: Wallet, connection: WalletConnection | null) {
    const isKnown = connection !== null && (tasks.wallets.length > 1 || connection.accounts.length > 0);
    return html`${isKnown ? this.#identity(connection) : nothing} ${this.#nextStep(task, wallet, connection)}`;
  }

  #identity(connection: WalletConnection) {
    const { wallet, accounts } = connection;
    const [account] = accounts;
    return html`<div class="identity">
      ${icon(wallet)}<span dir="auto">${nameOf(wallet)}</span>
      ${account === undefined ? html`<span class="hint">${texts.notConnected}</span>` : html`<code dir="ltr" title=${account}>${shortened(account)}</code>`}
      ${tasks.wallets.length > 1 ? html`<button type="button" class="quiet" @click=${() => this.#task?.choose(null)}>${texts.otherWallet}</button>` : nothing}
    </div>`;
  }

  #nextStep(task: WalletTask, wallet: Wallet, connection: WalletConnection | null) {
    const { chainId } = task.transaction;
    const step = connection?.stepTo(task.transaction) ?? "connect";
    if (connection === null || step === "connect") {
      return this.#primary(texts.connect(nameOf(wallet)), () => this.#use(wallet), texts.connectHint, wallet);
    }
    if (step === "ready") return this.#primary(texts.sign(nameOf(wallet)), () => void task.send(), texts.signHint);
    if (step === "account") return this.#primary(texts.chooseAccount, () => void connection.chooseAccount());
    if (connection.chainId === null || chainId === null) {
      return this.#primary(texts.tryAgain, () => void connection.refresh());
    }
    return this.#primary(texts.switchTo(nameOfNetwork(chainId)), () => void connection.switchTo(chainId));
  }

  /** The only primary button. */
  #primary(label: string, action: () => void, hint = "", wallet: Wallet | null = null) {
    const isBusy = this.#isBusy || this.#task?.connection?.isBusy;
    return html`<div class="choices" role="group">
        <button type="button" class="send" ?disabled=${isBusy} @click=${action}>
          <span class="named">${wallet === null ? nothing : icon(wallet)}<span>${label}</span></span>
        </button>
        ${this.#declineButton()}
      </div>
      <p class="hint" ?hidden=${hint === ""}>${hint}</p>`;
  }

  #declineButton() {
    return html`<button type="button" class="stop" ?disabled=${this.#isBusy} @click=${() => (this.isDeclining = true)}>${texts.decline}</button>`;
  }

  #declineForm() {
    const answer = (given: unknown): WalletAnswer => {
      const { reason = "" } = given as { reason?: string };
      return { status: "rejected", detail: reason || texts.detailDeclined };
    };
    return html`<p class="question">${texts.whyDecline}</p>
      <form @submit=${(event: Event) => this.#submit(event, answer)}>
        <callboard-form .schema=${REASON}></callboard-form>
        <button type="submit" class="stop" ?disabled=${this.#isBusy}>${texts.declineNow}</button>
        <button type="button" class="quiet" @click=${() => (this.isDeclining = false)}>${pageTexts.back}</button>
      </form>`;
  }

  /** The form for an outcome that the page cannot know. Nothing is selected in advance. */
  #byHand(isOpen: boolean) {
    this.#isByHand ||= isOpen;
    const phase = this.#task?.phase;
    const value =
      phase?.kind === "replaced" || phase?.kind === "following" ? { transaction_hash: phase.hash } : undefined;
    return html`<details class="by-hand" ?open=${this.#isByHand}>
      <summary>${texts.byHand}</summary>
      <p class="hint">${texts.byHandHint}</p>
      <form @submit=${(event: Event) => this.#submit(event, (given) => given)}>
        <callboard-form .schema=${this.request.schema} .value=${value} .label=${pageTexts.answerJson}></callboard-form>
        <button type="submit" ?disabled=${this.#isBusy}>${pageTexts.answer}</button>
      </form>
      <p class="notice error" role="alert" ?hidden=${this.problem === ""}>${this.problem}</p>
    </details>`;
  }

  // After the wallet was asked

  #unsure(task: WalletTask) {
    return html`<div class="choices" role="group">
        <button type="button" class="stop" ?disabled=${this.#isBusy} @click=${() => task.reportFailure()}>${texts.reportFailure}</button>
        <button type="button" class="quiet" ?disabled=${this.#isBusy} @click=${() => void task.forget()}>${texts.askAgain}</button>
      </div>
      ${this.#byHand(false)}`;
  }

  #following({ transaction, connection }: WalletTask, phase: Extract<Phase, { kind: "following" }>) {
    const { hash, progress, needs } = phase;
    const { confirmations: needed, chainId } = transaction;
    const network = chainId === null ? "" : nameOfNetwork(chainId);
    const hint = needs === "wallet" ? texts.needsWallet : needs === "network" ? texts.needsNetwork(network) : "";
    const canSwitch = needs === "network" && chainId !== null && connection !== null;
    return html`${this.#bar(progress.block === null ? null : progress.confirmations / needed)} ${this.#hash(hash)}
      <p class="hint" ?hidden=${hint === ""}>${hint}</p>
      ${
        canSwitch
          ? html`<div class="choices"><button type="button" class="send" ?disabled=${connection.isBusy} @click=${() => void connection.switchTo(chainId)}>${texts.switchTo(network)}</button></div>`
          : nothing
      }
      ${needs === null ? nothing : this.#byHand(false)}`;
  }

  #answering({ transaction_hash: hash }: WalletAnswer) {
    return html`${hash === undefined ? nothing : this.#hash(hash)}
    ${this.#isLate && !this.#isBusy ? html`<div class="choices"><button type="button" class="send" @click=${this.#reportNow}>${texts.sendNow}</button></div>` : nothing}`;
  }

  #bar(fraction: number | null) {
    return html`<progress max="1" value=${fraction ?? nothing} aria-label=${texts.progress}></progress>`;
  }

  #hash(hash: string) {
    return html`<p class="hash"><span>${texts.hash}</span><code dir="ltr">${hash}</code>
      <button type="button" class="quiet" @click=${() => void this.#copy(hash)}>${this.isCopied ? pageTexts.copied : pageTexts.copy}</button>
    </p>`;
  }

  // Actions

  get #isBusy(): boolean {
    return this.answer?.isBusy ?? false;
  }

  /** Whether the outcome did not reach the server. */
  get #isLate(): boolean {
    return !this.isReported && (this.answer?.problem ?? "") !== "";
  }

  get #reportStatus(): string {
    if (this.isReported) return texts.reported;
    return this.#isLate ? texts.notReported : texts.reporting;
  }

  #use(wallet: Wallet): void {
    this.#task?.choose(wallet);
    void this.#task?.connection?.connect();
  }

  #submit(event: Event, answer: (given: unknown) => unknown): void {
    event.preventDefault();
    this.problem = "";
    try {
      const form = (event.currentTarget as HTMLFormElement).querySelector<FormElement>("callboard-form");
      this.dispatchEvent(new AnswerEvent(this.request, answer(form?.read())));
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
  }

  /** Tell the server the outcome, if no other element does. It is retried until the server has accepted it. */
  #report(): void {
    const phase = this.#task?.phase;
    if (phase?.kind !== "answering" || this.isReported || this.#isSent || this.#isBusy) return;
    if (!tasks.claim(this.request.id, this.#onChange)) return;
    this.#isSent = true;
    this.dispatchEvent(new AnswerEvent(this.request, phase.answer));
  }

  readonly #reportNow = () => {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#report();
  };

  #retryLater(): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(this.#reportNow, this.#delay);
    this.#delay = Math.min(MAX_RETRY, this.#delay * 2);
  }

  async #look(): Promise<void> {
    this.sentNothing = null;
    this.sentNothing = (await this.#task?.hasSentNothing()) ?? null;
  }

  async #copy(hash: string): Promise<void> {
    this.isCopied = await copyText(hash);
  }

  #open(): void {
    this.#close();
    if (this.request === undefined) return;
    this.#taskId = this.request.id;
    this.#task = tasks.open(this.request.id, this.request.payload, this.#onChange);
    this.#preselect();
    this.requestUpdate();
  }

  #close(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#isSent = false;
    if (this.#taskId !== "") tasks.close(this.#taskId, this.#onChange);
    this.#taskId = "";
    this.#task = null;
  }

  readonly #onChange = () => {
    this.#preselect();
    this.requestUpdate();
  };

  /** Use the only wallet without a question, so that one that is connected already can sign at once. */
  #preselect(): void {
    const task = this.#task;
    const [only, another] = tasks.wallets;
    if (task?.phase.kind === "idle" && task.connection === null && only && !another && !tasks.isSearching)
      task.choose(only);
  }
}

/** Add the style sheet to the root around the element, which has none for wallets because it is loaded without them. */
function adoptStyles(root: Node): void {
  const sheet = walletStyles.styleSheet;
  if (!(root instanceof ShadowRoot || root instanceof Document) || sheet === undefined) return;
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}

customElements.define("callboard-wallet-request", WalletRequestElement);
