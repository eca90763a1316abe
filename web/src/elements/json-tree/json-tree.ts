import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { isFields } from "../../api/wire.ts";
import { jsonStart } from "../../format.ts";
import { texts } from "../../texts.ts";
import { visibleLines } from "../../visible-text.ts";
import { Part } from "../part/part.ts";

const MAX_ENTRIES = 50; // entries that are added at once
const CHARACTERS = { first: 4_000, more: 50_000 }; // of a text, at first and added at once
const PREVIEW = 60; // characters of a closed branch

/**
 * JSON as a tree, in which hidden characters have names.
 *
 * The entries of a branch are made when the person opens it, so that large values do not block the page. More of a long
 * text is shown on demand.
 */
export class JsonTreeElement extends Part {
  static override properties = {
    value: { attribute: false },
    levels: { attribute: false },
    isOpen: { attribute: false },
    limit: { state: true },
    characters: { state: true },
  };
  declare value: unknown;
  /** The number of levels that are open at first. */
  declare levels: number;
  /** Whether the branch is open at first. */
  declare isOpen: boolean;
  declare limit: number;
  /** Characters of a text that are shown. */
  declare characters: number;

  constructor() {
    super();
    this.levels = 0;
    this.isOpen = false;
    this.limit = MAX_ENTRIES;
    this.characters = CHARACTERS.first;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("levels") && this.levels > 0) this.isOpen = true;
  }

  override render(): TemplateResult {
    const { value } = this;
    if (!isFields(value) && !Array.isArray(value)) return this.#leaf(value);
    const names = Array.isArray(value) ? null : Object.keys(value);
    const count = names?.length ?? (value as readonly unknown[]).length;
    const label = names === null ? texts.listOf(count) : texts.objectOf(count);
    return html`<details class="json" ?open=${this.isOpen} @toggle=${this.#onToggle}>
      <summary>${label}${this.isOpen || count === 0 ? nothing : html` <span class="preview-json" dir="auto">${preview(value)}</span>`}</summary>
      ${this.isOpen ? this.#entries(names, count) : nothing}
    </details>`;
  }

  #leaf(value: unknown) {
    const left = typeof value === "string" ? value.length - this.characters : 0;
    const shown = typeof value === "string" ? value.slice(0, this.characters) : value;
    const more = () => (this.characters += CHARACTERS.more);
    return html`<span class="json" dir="auto">${visibleLines(jsonStart(shown, Infinity))}${left > 0 ? "…" : nothing}</span>
      ${left > 0 ? html`<button type="button" class="quiet more" @click=${more}>${texts.showMoreText(left)}</button>` : nothing}`;
  }

  #entries(names: readonly string[] | null, count: number) {
    const shown = Math.min(count, this.limit);
    const value = this.value as Readonly<Record<string, unknown>>;
    const labels = names?.slice(0, shown) ?? Array.from({ length: shown }, (_, place) => String(place));
    return html`<ul>
      ${labels.map(
        (name) => html`<li>
          <span class="name" dir="auto">${visibleLines(name)}</span>
          <callboard-json-tree .levels=${this.levels - 1} .value=${value[name]}></callboard-json-tree>
        </li>`,
      )}
      ${count > shown ? html`<li><button type="button" class="quiet more" @click=${this.#more}>${texts.showMore(count - shown)}</button></li>` : nothing}
    </ul>`;
  }

  readonly #more = () => {
    this.limit += 4 * MAX_ENTRIES;
  };

  readonly #onToggle = (event: Event) => {
    event.stopPropagation();
    this.isOpen = (event.target as HTMLDetailsElement).open;
  };
}

function preview(value: unknown): string {
  const text = jsonStart(value, PREVIEW);
  return visibleLines(text.length > PREVIEW ? `${text.slice(0, PREVIEW)}…` : text);
}

customElements.define("callboard-json-tree", JsonTreeElement);
