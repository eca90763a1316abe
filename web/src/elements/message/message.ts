import { html, nothing } from "lit";
import { ShowCallEvent } from "../../events/show-call-event.ts";
import { renderMarkdown } from "../../markdown/render.ts";
import { texts } from "../../texts.ts";
import "../code/code.ts";
import { Part } from "../part/part.ts";
import { copyText } from "../shared/copy.ts";

/**
 * A message of the model.
 *
 * @fires callboard-show-call - The person asks for the card of a call whose late result the message reports.
 */
export class MessageElement extends Part {
  static override properties = {
    text: {},
    isLive: { attribute: false },
    reports: { attribute: false },
    isCopied: { state: true },
  };
  declare text: string;
  /** Whether the message is still being streamed. */
  declare isLive: boolean;
  /** The calls whose late results it reports: their execution ids and their tools. */
  declare reports: readonly (readonly [executionId: string, tool: string])[];
  declare isCopied: boolean;

  constructor() {
    super();
    this.text = "";
    this.isLive = false;
    this.reports = [];
    this.isCopied = false;
  }

  override render() {
    return html`<div class="text markdown" ?data-live=${this.isLive}>${renderMarkdown(this.text)}</div>
      ${this.isLive ? nothing : this.#tools()}`;
  }

  #tools() {
    return html`<div class="message-tools">
      ${this.reports.map(([id, tool]) => html`<a class="report" href="#" @click=${(event: Event) => this.#show(event, id)}>${texts.aboutCall(tool)}</a>`)}
      <button type="button" class="quiet copy" aria-label=${texts.copyMessage} @click=${this.#copy}>${this.isCopied ? texts.copied : texts.copy}</button>
    </div>`;
  }

  #show(event: Event, executionId: string): void {
    event.preventDefault();
    this.dispatchEvent(new ShowCallEvent(executionId));
  }

  readonly #copy = async () => {
    this.isCopied = await copyText(this.text);
  };
}

customElements.define("callboard-message", MessageElement);
