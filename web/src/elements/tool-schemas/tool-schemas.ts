import { html, type PropertyValues, type TemplateResult } from "lit";
import type { ToolEntry } from "../../api/tool-wire.ts";
import type { Fields } from "../../api/wire.ts";
import { catalogueTexts as texts } from "../../texts/catalogue.ts";
import "../code/code.ts";
import { Part } from "../part/part.ts";
import { copyText } from "../shared/copy.ts";

const MAX = 40_000; // characters that are shown

/** The schema of a tool in each dialect, with a button that copies it. */
export class ToolSchemasElement extends Part {
  static override properties = { entry: { attribute: false }, chosen: { state: true }, isCopied: { state: true } };
  declare entry: ToolEntry;
  /** The dialect that is shown. It stays the same when another tool is shown. */
  declare chosen: string;
  declare isCopied: boolean;

  constructor() {
    super();
    this.chosen = "";
    this.isCopied = false;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("entry") || changed.has("chosen")) this.isCopied = false;
  }

  override render(): TemplateResult {
    const schemas = this.#schemas();
    const names = Object.keys(schemas);
    const name = names.includes(this.chosen) ? this.chosen : (names[0] ?? "");
    return html`<div class="dialects" role="group" aria-label=${texts.dialects}>
        ${names.map(
          (each) => html`<button
            type="button"
            class="quiet"
            aria-pressed=${each === name}
            @click=${() => (this.chosen = each)}
          >
            ${each}
          </button>`,
        )}
      </div>
      ${this.#schema(schemas[name] ?? {})}`;
  }

  /** The dialects of the server, and the schemas of the arguments and the result by themselves. */
  #schemas(): Record<string, Fields> {
    const { input_schema: input, output_schema: output, schemas } = this.entry;
    return {
      ...schemas,
      [texts.input]: (input ?? {}) as Fields,
      ...(output === null || output === undefined ? {} : { [texts.output]: output }),
    };
  }

  #schema(schema: Fields) {
    if (typeof schema["error"] === "string" && Object.keys(schema).every((key) => key === "error" || key === "path")) {
      const path = typeof schema["path"] === "string" && schema["path"] !== "" ? texts.at(schema["path"]) : "";
      return html`<p class="notice">${texts.dialectRefuses} ${schema["error"]} ${path}</p>`;
    }
    const text = JSON.stringify(schema, null, 2);
    if (text.length <= MAX) return html`<callboard-code .code=${text} .language=${"json"}></callboard-code>`;
    // the whole of it would freeze the page
    const [shown, total] = [MAX, text.length].map((count) => count.toLocaleString());
    return html`<p class="hint">
        ${texts.cutSchema(shown ?? "", total ?? "")}
        <button type="button" class="quiet" @click=${() => this.#copy(text)}>
          ${this.isCopied ? texts.copied : texts.copy}
        </button>
      </p>
      <pre class="cut" tabindex="0" dir="ltr">${text.slice(0, MAX)}</pre>`;
  }

  async #copy(text: string): Promise<void> {
    this.isCopied = await copyText(text);
  }
}

customElements.define("callboard-tool-schemas", ToolSchemasElement);
