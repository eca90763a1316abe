import { html } from "lit";
import { EditMessageEvent } from "../../events/edit-message-event.ts";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";
import { copyText } from "../shared/copy.ts";

/**
 * A message of the person.
 *
 * @fires callboard-edit-message - The person wants to send it again, edited.
 */
export class UserMessageElement extends Part {
  static override properties = { text: {}, isCopied: { state: true } };
  declare text: string;
  declare isCopied: boolean;

  constructor() {
    super();
    this.text = "";
    this.isCopied = false;
  }

  override render() {
    return html`<p class="text" dir="auto">${this.text}</p>
      <div class="message-tools">
        <button type="button" class="quiet copy" aria-label=${texts.editMessage} @click=${this.#edit}>${texts.edit}</button>
        <button type="button" class="quiet copy" aria-label=${texts.copyMessage} @click=${this.#copy}>${this.isCopied ? texts.copied : texts.copy}</button>
      </div>`;
  }

  readonly #edit = () => {
    this.dispatchEvent(new EditMessageEvent(this.text));
  };

  readonly #copy = async () => {
    this.isCopied = await copyText(this.text);
  };
}

customElements.define("callboard-user-message", UserMessageElement);
