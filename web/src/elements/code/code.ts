import { html, nothing, type PropertyValues } from "lit";
import type { Piece } from "../../markdown/pieces.ts";
import { texts } from "../../texts.ts";
import { copyText } from "../shared/copy.ts";
import { Part } from "../part/part.ts";

const MAX = 50_000; // characters that are highlighted

/** A block of code, highlighted if its language is known, with a button that copies it. */
export class CodeElement extends Part {
  static override properties = { code: {}, language: {}, pieces: { state: true }, isCopied: { state: true } };
  declare code: string;
  declare language: string;
  declare pieces: readonly Piece[] | null;
  declare isCopied: boolean;

  constructor() {
    super();
    this.code = "";
    this.language = "";
    this.pieces = null;
    this.isCopied = false;
  }

  override render() {
    return html`<figure class="code-block">
      <figcaption>${this.language}<button type="button" class="quiet" @click=${this.#copy}>${this.isCopied ? texts.copied : texts.copy}</button></figcaption>
      <pre tabindex="0" dir="ltr"><code>${this.#content()}</code></pre>
    </figure>`;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("code")) return;
    this.isCopied = false;
    if (!this.code.startsWith(changed.get("code") ?? "")) this.pieces = null; // of other code
  }

  override updated(changed: PropertyValues<this>): void {
    if (changed.has("code") || changed.has("language")) void this.#highlight();
  }

  /** The code: highlighted up to where the pieces are known, so that streamed code does not flicker. */
  #content() {
    if (this.pieces === null) return this.code;
    const known = this.pieces.reduce((length, { text }) => length + text.length, 0);
    const rest = this.code.slice(known);
    return html`${this.pieces.map(({ text, className }) => (className === "" ? text : html`<span class=${className}>${text}</span>`))}${rest === "" ? nothing : rest}`;
  }

  async #highlight(): Promise<void> {
    const { code, language } = this;
    if (language === "" || code.length > MAX) return void (this.pieces = null);
    const { highlight } = await import("../../markdown/highlight.ts");
    if (code === this.code) this.pieces = highlight(code, language.toLowerCase());
  }

  readonly #copy = async () => {
    this.isCopied = await copyText(this.code);
  };
}

customElements.define("callboard-code", CodeElement);
