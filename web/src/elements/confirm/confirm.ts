import { html } from "lit";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";

/** A question before an action that cannot be undone, as a dialog. */
export class ConfirmElement extends Part {
  static override properties = { question: { state: true }, action: { state: true } };
  declare question: string;
  declare action: string;
  #resolve: (isConfirmed: boolean) => void = () => undefined;

  constructor() {
    super();
    this.question = "";
    this.action = "";
  }

  /** Ask, and return whether the person confirms. `action` is the label of the button that does. */
  async ask(question: string, action: string): Promise<boolean> {
    this.#resolve(false);
    this.question = question;
    this.action = action;
    await this.updateComplete;
    const dialog = this.querySelector("dialog");
    if (dialog === null) return false;
    dialog.returnValue = "";
    if (!dialog.open) dialog.showModal();
    return new Promise((resolve) => (this.#resolve = resolve));
  }

  override render() {
    return html`<dialog id="confirm" role="alertdialog" aria-labelledby="confirm-text" @close=${this.#onClose}>
      <form method="dialog">
        <p id="confirm-text" class="question" dir="auto">${this.question}</p>
        <div class="choices">
          <button value="" autofocus>${texts.cancel}</button>
          <button class="stop" value="yes">${this.action}</button>
        </div>
      </form>
    </dialog>`;
  }

  readonly #onClose = (event: Event) => {
    const dialog = event.target as HTMLDialogElement;
    if (dialog.open) return; // the event of an earlier question, whose answer `ask` has given
    this.#resolve(dialog.returnValue === "yes");
    this.#resolve = () => undefined;
  };
}

customElements.define("callboard-confirm", ConfirmElement);
