import { html, nothing, type TemplateResult } from "lit";
import { isFields } from "../../api/wire.ts";
import { LONG, short, title } from "../../format.ts";
import { shapeOf } from "../../state/shape.ts";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";
import "../json-tree/json-tree.ts";

const MAX_ROWS = 50;

/** A value for people, by its shape: a text, a link, named fields, a table, or a tree of JSON. */
export class ValueElement extends Part {
  static override properties = { value: { attribute: false } };
  declare value: unknown;

  override render(): TemplateResult {
    const shape = shapeOf(this.value);
    switch (shape.kind) {
      case "nothing":
        return html`<p class="value">${texts.nothing}</p>`;
      case "link":
        return html`<p class="value"><a href=${shape.url} target="_blank" rel="noopener noreferrer">${shape.url}</a></p>`;
      case "text":
        return shape.text.length <= LONG
          ? html`<p class="value" dir="auto">${shape.text}</p>`
          : html`<details><summary>${shape.text.slice(0, 120)}…</summary><pre>${shape.text}</pre></details>`;
      case "fields":
        return facts(shape.fields);
      case "table":
        return this.#table(shape.columns, shape.rows);
      case "tree":
        return html`<callboard-json-tree .value=${this.value}></callboard-json-tree>`;
    }
  }

  #table(columns: readonly string[], rows: readonly Readonly<Record<string, unknown>>[]) {
    return html`<div class="scrolled" tabindex="0">
      <table>
        <thead><tr>${columns.map((name) => html`<th scope="col">${title(name)}</th>`)}</tr></thead>
        <tbody>
          ${rows.slice(0, MAX_ROWS).map((row) => html`<tr>${columns.map((name) => html`<td dir="auto">${short(row[name])}</td>`)}</tr>`)}
        </tbody>
      </table>
      ${rows.length > MAX_ROWS ? html`<p class="hint">${texts.moreRows(rows.length - MAX_ROWS)}</p>` : nothing}
    </div>`;
  }
}

/** Fields with their names. A field with structure is a tree. */
export function facts(fields: Readonly<Record<string, unknown>>): TemplateResult {
  return html`<dl class="facts">
    ${Object.entries(fields).map(([name, value]) => html`<dt>${title(name)}</dt><dd dir="auto">${fact(value)}</dd>`)}
  </dl>`;
}

function fact(value: unknown) {
  const isDeep = isFields(value) || (Array.isArray(value) && value.some((each) => typeof each === "object"));
  return isDeep && JSON.stringify(value).length > LONG / 4
    ? html`<callboard-json-tree .value=${value}></callboard-json-tree>`
    : short(value);
}

customElements.define("callboard-value", ValueElement);
