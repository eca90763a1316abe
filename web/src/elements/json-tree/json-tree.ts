import { html, type TemplateResult } from "lit";
import { isFields } from "../../api/wire.ts";
import { LONG } from "../../format.ts";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";

const MAX_ENTRIES = 200; // entries that are shown at once

/** JSON as a tree. The entries of a branch are made when the person opens it, so that large values do not block the page. */
export class JsonTreeElement extends Part {
  static override properties = { value: { attribute: false }, isOpen: { state: true }, limit: { state: true } };
  declare value: unknown;
  declare isOpen: boolean;
  declare limit: number;

  constructor() {
    super();
    this.isOpen = false;
    this.limit = MAX_ENTRIES;
  }

  override render(): TemplateResult {
    if (!isFields(this.value) && !Array.isArray(this.value))
      return html`<span class="json">${encode(this.value)}</span>`;
    const entries = Object.entries(this.value);
    const label = Array.isArray(this.value) ? texts.listOf(entries.length) : texts.objectOf(entries.length);
    return html`<details class="json" ?open=${this.isOpen} @toggle=${this.#onToggle}>
      <summary>${label}</summary>
      ${this.isOpen ? this.#entries(entries) : ""}
    </details>`;
  }

  #entries(entries: [string, unknown][]) {
    const left = entries.length - this.limit;
    return html`<ul>
      ${entries.slice(0, this.limit).map(([name, value]) => html`<li><span class="name">${name}</span> <callboard-json-tree .value=${value}></callboard-json-tree></li>`)}
      ${left > 0 ? html`<li><button type="button" class="quiet" @click=${() => (this.limit += MAX_ENTRIES)}>${texts.moreRows(left)}</button></li>` : ""}
    </ul>`;
  }

  readonly #onToggle = (event: Event) => {
    event.stopPropagation();
    this.isOpen = (event.target as HTMLDetailsElement).open;
  };
}

function encode(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 10 * LONG ? `${text.slice(0, 10 * LONG)}…` : text;
}

customElements.define("callboard-json-tree", JsonTreeElement);
