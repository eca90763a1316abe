import { html, nothing } from "lit";
import { TokenEvent } from "../../events/token-event.ts";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";

/**
 * The dialog that asks for a token. It stays open until there is one.
 *
 * @fires callboard-token - The person signs in.
 */
export class TokenDialogElement extends Part {
  static override properties = { wasRefused: { state: true } };
  declare wasRefused: boolean;
  #isWanted = false;

  constructor() {
    super();
    this.wasRefused = false;
  }

  /** Ask for a token. `wasRefused` if the server refused the last one. */
  async ask(wasRefused: boolean): Promise<void> {
    this.wasRefused = wasRefused;
    this.#isWanted = true;
    await this.updateComplete;
    const dialog = this.#dialog;
    if (dialog === null) return;
    this.querySelector("form")?.reset();
    if (!dialog.open) dialog.showModal();
  }

  get isOpen(): boolean {
    return this.#isWanted;
  }

  /** Close the dialog, because there is a token. */
  close(): void {
    this.#isWanted = false;
    this.#dialog?.close();
  }

  override render() {
    return html`<dialog id="token-dialog" aria-labelledby="token-title" @close=${this.#onClose}>
      <form method="dialog" id="token-form" @submit=${this.#onSubmit}>
        <h2 id="token-title">${texts.signIn}</h2>
        <p>${texts.signInText}</p>
        <label for="token">${texts.token}</label>
        <input id="token" type="password" autocomplete="off" spellcheck="false" required autofocus />
        <label class="check"><input id="remember" type="checkbox" />${texts.rememberToken}</label>
        ${this.wasRefused ? html`<p class="notice error" id="token-error" role="alert">${texts.tokenRefused}</p>` : nothing}
        <button type="submit" class="send">${texts.continue}</button>
      </form>
    </dialog>`;
  }

  get #dialog(): HTMLDialogElement | null {
    return this.querySelector("dialog");
  }

  readonly #onSubmit = () => {
    const token = this.querySelector<HTMLInputElement>("#token")?.value.trim() ?? "";
    const remember = this.querySelector<HTMLInputElement>("#remember")?.checked ?? false;
    if (token === "") return;
    this.#isWanted = false;
    this.dispatchEvent(new TokenEvent(token, remember));
  };

  readonly #onClose = () => {
    if (this.#isWanted) this.#dialog?.showModal(); // Escape closes a dialog in any case
  };
}

customElements.define("callboard-token-dialog", TokenDialogElement);
