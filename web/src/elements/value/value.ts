import { html, nothing, type TemplateResult } from "lit";
import type { Fields } from "../../api/wire.ts";
import { isShort, LONG, short, title } from "../../format.ts";
import { renderMarkdown } from "../../markdown/render.ts";
import { blockName, blockValue, fitsTable, shapeOf } from "../../state/shape.ts";
import { texts } from "../../texts.ts";
import { visibleLines } from "../../visible-text.ts";
import "../code/code.ts";
import "../json-tree/json-tree.ts";
import { Part } from "../part/part.ts";
import { copyText } from "../shared/copy.ts";

/** Rows of a table that are shown at first, and that are added at once. */
const ROWS = { first: 20, more: 200 };
/** Characters of a text that are shown at first, and that are added at once. */
const CHARACTERS = { first: 1_500, more: 50_000 };

/**
 * A value for people, by its shape: a text, Markdown, a link, an image, a sound, content, named fields, a table, or a tree of JSON.
 *
 * Only the first part of a large value is shown, and more of it on demand.
 */
export class ValueElement extends Part {
  static override properties = {
    value: { attribute: false },
    isExact: { attribute: false },
    steps: { state: true },
    isPlain: { state: true },
    isCopied: { state: true },
    isBroken: { state: true },
  };
  declare value: unknown;
  /** Whether texts are shown as they are, with names for hidden characters. */
  declare isExact: boolean;
  /** How often the person asked for more. */
  declare steps: number;
  /** Whether Markdown is shown as it was written. */
  declare isPlain: boolean;
  declare isCopied: boolean;
  /** Whether the browser cannot show the image. */
  declare isBroken: boolean;

  constructor() {
    super();
    this.isExact = false;
    this.steps = 0;
    this.isPlain = false;
    this.isCopied = false;
    this.isBroken = false;
  }

  override render(): TemplateResult {
    const shape = shapeOf(this.value, globalThis.location.origin);
    switch (shape.kind) {
      case "nothing":
        return html`<p class="value">${texts.nothing}</p>`;
      case "link":
        return html`<p class="value"><a href=${shape.url} target="_blank" rel="noopener noreferrer">${this.#written(shape.url)}</a></p>`;
      case "image":
        return this.#image(shape.url);
      case "audio":
        return html`<audio class="sound" controls preload="metadata" src=${shape.url} aria-label=${texts.audioResult}></audio>`;
      case "content":
        return html`${shape.blocks.map(contentBlock)}`;
      case "text":
        return this.#text(shape.text);
      case "markdown":
        return this.isExact ? this.#text(shape.text) : this.#markdown(shape.text);
      case "fields":
        return facts(shape.fields);
      case "table":
        return this.#table(shape.columns, shape.rows);
      case "tree":
        return html`<callboard-json-tree .value=${this.value} .isOpen=${true}></callboard-json-tree>`;
    }
  }

  get #characters(): number {
    return CHARACTERS.first + this.steps * CHARACTERS.more;
  }

  #written(text: string): string {
    return this.isExact ? visibleLines(text) : text;
  }

  #text(text: string) {
    const shown = this.#written(text.slice(0, this.#characters));
    return html`<p class="value" dir="auto">${shown}</p>${this.#tools(text)}`;
  }

  #markdown(text: string) {
    const shown = text.slice(0, this.#characters);
    const content = this.isPlain
      ? html`<p class="value" dir="auto">${shown}</p>`
      : html`<div class="value markdown">${renderMarkdown(shown)}</div>`;
    return html`${content}${this.#tools(text, this.#plainButton())}`;
  }

  #plainButton() {
    const toggle = () => (this.isPlain = !this.isPlain);
    return html`<button type="button" class="quiet" @click=${toggle}>${this.isPlain ? texts.asFormatted : texts.asText}</button>`;
  }

  /** The buttons of a long or formatted text. */
  #tools(text: string, own: unknown = nothing) {
    const left = text.length - this.#characters;
    if (left <= 0 && own === nothing) return nothing;
    const copy = async () => (this.isCopied = await copyText(text));
    return html`<div class="value-tools">
      ${left > 0 ? html`<button type="button" class="quiet more" @click=${this.#more}>${texts.showMoreText(left)}</button>` : nothing}
      ${own}
      <button type="button" class="quiet" @click=${copy}>${this.isCopied ? texts.copied : texts.copy}</button>
    </div>`;
  }

  #image(url: string) {
    if (this.isBroken) return html`<p class="value">${texts.brokenImage}</p>`;
    return html`<img class="picture" src=${url} alt=${texts.imageResult} decoding="async" @error=${() => (this.isBroken = true)} />`;
  }

  #table(columns: readonly string[], rows: readonly unknown[]) {
    const shown = rows.slice(0, ROWS.first + this.steps * ROWS.more);
    const left = rows.length - shown.length;
    return html`<div class="scrolled" role="region" aria-label=${texts.tableOf(rows.length)} tabindex="0">
        <table>
          <thead><tr>${columns.map((name) => html`<th scope="col" dir="auto">${title(name)}</th>`)}</tr></thead>
          <tbody>${shown.map((row) => html`<tr>${cells(row, columns)}</tr>`)}</tbody>
        </table>
      </div>
      ${left > 0 ? html`<button type="button" class="quiet more" @click=${this.#more}>${texts.showMore(left)}</button>` : nothing}`;
  }

  readonly #more = () => {
    this.steps += 1;
  };
}

/** A block of content, below its name if it has one. */
function contentBlock(block: Fields) {
  const name = blockName(block);
  return html`${name === "" ? nothing : html`<p class="value" dir="auto">${name}</p>`}
    <callboard-value .value=${blockValue(block)}></callboard-value>`;
}

/** The cells of a row. A row with other fields than the columns is shown as JSON. */
function cells(row: unknown, columns: readonly string[]) {
  if (!fitsTable(row, columns)) return html`<td colspan=${columns.length} dir="auto">${short(row)}</td>`;
  return columns.map(
    (name) => html`<td dir="auto" ?data-number=${typeof row[name] === "number"}>${short(row[name])}</td>`,
  );
}

/**
 * Fields with their names. A long text can be opened, and a field that does not fit on a line is a tree. Arguments are
 * `exact`: hidden characters in them have names, so that the person sees what the tool gets.
 */
export function facts(fields: Readonly<Record<string, unknown>>, how?: "exact"): TemplateResult {
  const isExact = how === "exact";
  const name = (given: string) => (isExact ? visibleLines(title(given)) : title(given));
  return html`<dl class="facts">
    ${Object.entries(fields).map(([given, value]) => html`<dt dir="auto">${name(given)}</dt><dd dir="auto">${fact(value, isExact)}</dd>`)}
  </dl>`;
}

function fact(value: unknown, isExact: boolean) {
  if (typeof value === "string" && (value.length > LONG || shapeOf(value).kind === "link" || isImage(value)))
    return html`<callboard-value .value=${value} .isExact=${isExact}></callboard-value>`;
  if (!isShort(value)) return html`<callboard-json-tree .value=${value}></callboard-json-tree>`;
  return isExact ? visibleLines(short(value)) : short(value);
}

const isImage = (value: string) => value.startsWith("data:image/");

customElements.define("callboard-value", ValueElement);
