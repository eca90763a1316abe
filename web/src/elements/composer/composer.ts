import { html, nothing } from "lit";
import { SendEvent } from "../../events/send-event.ts";
import { StopEvent } from "../../events/stop-event.ts";
import { browserStorage } from "../../state/storage.ts";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";

const DRAFT = "callboard.draft.";

/**
 * The field in which the person writes messages. A draft survives a reload.
 *
 * @fires callboard-send - The person sends a message.
 * @fires callboard-stop - The person stops the model.
 */
export class ComposerElement extends Part {
  static override properties = { isProcessing: { attribute: false }, draftKey: { attribute: false } };
  /** Whether the model is working, so that it can be stopped. */
  declare isProcessing: boolean;
  /** The conversation of the draft. */
  declare draftKey: string;
  readonly #drafts = browserStorage("sessionStorage");

  constructor() {
    super();
    this.isProcessing = false;
    this.draftKey = "";
  }

  override focus(): void {
    this.#field?.focus();
  }

  /** Put a text into the field, after what is already there. */
  fill(text: string): void {
    if (this.#field === null) return;
    const before = this.#field.value.trimEnd();
    this.#field.value = before === "" || before === text ? text : `${before}\n\n${text}`;
    this.#keep();
    this.#field.focus();
    this.#field.setSelectionRange(this.#field.value.length, this.#field.value.length);
  }

  override render() {
    return html`<form class="composer" id="composer" @submit=${this.#submit}>
      <label class="hidden" for="message">${texts.composerLabel}</label>
      <textarea
        id="message"
        rows="1"
        maxlength="200000"
        dir="auto"
        autocomplete="off"
        aria-describedby="keys"
        enterkeyhint="send"
        placeholder=${texts.composerPlaceholder}
        @keydown=${this.#onKey}
        @input=${this.#keep}
      ></textarea>
      <span class="hidden" id="keys">${texts.composerKeys}</span>
      ${
        this.isProcessing
          ? html`<button type="button" class="stop" id="stop" @click=${this.#stop}>${texts.stop}</button>`
          : nothing
      }
      <button type="submit" class="send" id="send">${texts.send}</button>
    </form>`;
  }

  override updated(changed: Map<PropertyKey, unknown>): void {
    if (changed.has("draftKey") && this.#field !== null)
      this.#field.value = this.#drafts.get(DRAFT + this.draftKey) ?? "";
  }

  get #field(): HTMLTextAreaElement | null {
    return this.querySelector("textarea");
  }

  readonly #keep = () => {
    const text = this.#field?.value ?? "";
    this.#drafts.set(DRAFT + this.draftKey, text === "" ? null : text);
  };

  readonly #submit = (event: Event) => {
    event.preventDefault();
    const text = this.#field?.value.trim() ?? "";
    if (text === "" || this.#field === null) return;
    this.#field.value = "";
    this.#keep();
    this.dispatchEvent(new SendEvent(text));
  };

  readonly #onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this.querySelector("form")?.requestSubmit();
    } else if (event.key === "Escape" && this.isProcessing) this.#stop();
  };

  readonly #stop = () => {
    this.dispatchEvent(new StopEvent());
  };
}

customElements.define("callboard-composer", ComposerElement);
