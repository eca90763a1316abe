import { html, nothing } from "lit";
import { parseJson } from "../../api/exact-integer.ts";
import type { Schema } from "../../api/wire.ts";
import { hasOwn } from "../../api/wire.ts";
import { choiceText, type Field, fieldsOf, inputText, inputValue } from "../../state/schema.ts";
import { texts } from "../../texts.ts";
import { visibleLines, visibleText } from "../../visible-text.ts";
import { Part } from "../part/part.ts";

type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const INPUT_TYPES: ReadonlyMap<string, string> = new Map([
  ["date", "date"],
  ["email", "email"],
  ["uri", "url"],
]);
const LONG = 200; // characters of a text that gets several lines

let count = 0;

/** The text of an input is not valid. */
class InvalidInput extends Error {
  readonly input: Input | null;

  constructor(message: string, input: Input | null) {
    super(message);
    this.input = input;
  }
}

/**
 * The fields for a value of a JSON schema. A value without a suitable field is entered as JSON.
 *
 * Its inputs belong to the person: a new value of a property is shown only when the element is new.
 */
export class FormElement extends Part {
  static override properties = {
    schema: { attribute: false },
    value: { attribute: false },
    text: { attribute: false },
    label: {},
    asJson: { attribute: false },
  };
  declare schema: Schema;
  /** The value to start with, or undefined for the defaults of the schema. */
  declare value: unknown;
  /** The text of the field for JSON, if it is not that of the value. */
  declare text: string | undefined;
  /** The label of the field for JSON. */
  declare label: string;
  /** Whether the value is entered as JSON although the schema has fields. */
  declare asJson: boolean;
  readonly #id = `form${count++}`;

  constructor() {
    super();
    this.schema = {};
    this.value = undefined;
    this.text = undefined;
    this.label = texts.answerJson;
    this.asJson = false;
  }

  /** What the person has entered up to now: a value, the text of incomplete JSON, or nothing that can be kept. */
  entered(): { readonly value: unknown } | { readonly text: string } | Record<string, never> {
    try {
      return { value: this.#read() };
    } catch {
      return this.#fields === null ? { text: this.#input("json")?.value ?? "" } : {};
    }
  }

  /** The value that the person entered. Focuses a field that is not valid, and throws an error with a text for people. */
  read(): unknown {
    try {
      return this.#read();
    } catch (error) {
      if (error instanceof InvalidInput) error.input?.focus();
      throw error;
    }
  }

  #read(): unknown {
    const fields = this.#fields;
    if (fields === null) return this.#readJson(this.#input("json"), this.label);
    const answer = new Map<string, unknown>(); // an object would have names of its own, such as `__proto__`
    for (const field of fields) {
      const input = this.#input(field.name);
      const isCheck = input instanceof HTMLInputElement && input.type === "checkbox";
      const text = isCheck ? (input.checked ? "true" : "") : (input?.value ?? "");
      const isJson = field.kind === "json" && (field.isRequired || text.trim() !== "");
      const value = isJson ? this.#readJson(input, field.label) : inputValue(field, text);
      if (value !== undefined) answer.set(field.name, value);
    }
    return Object.fromEntries(answer);
  }

  override focus(): void {
    this.querySelector<HTMLElement>("input, select, textarea")?.focus();
  }

  override render() {
    const fields = this.#fields;
    if (fields === null) return this.#json("json", this.label, this.value, nothing, this.text);
    return html`<div class="fields">${fields.map((field, place) => this.#field(field, place))}</div>`;
  }

  get #fields(): Field[] | null {
    return this.asJson ? null : fieldsOf(this.schema);
  }

  #field(field: Field, place: number) {
    const { name, hint, kind, schema } = field;
    const id = `${this.#id}-${place}`; // a name may have spaces, which separate ids
    const label = visibleText(field.label);
    const given = hasOwn(this.value, name) ? this.value[name] : schema.default;
    const note = hint === "" ? nothing : html`<p class="hint" id="${id}-hint">${visibleLines(hint)}</p>`;
    const described = hint === "" ? nothing : `${id}-hint`;
    if (kind === "json") return this.#json(name, label, given, note, inputText(field, given), id, described);
    if (kind === "check") {
      return html`<div class="field check">
        <label for=${id}><input id=${id} name=${name} type="checkbox" aria-describedby=${described} .checked=${given === true} />${label}</label>${note}
      </div>`;
    }
    return html`<div class="field"><label for=${id}>${label}</label>${this.#entry(field, id, inputText(field, given), described)}${note}</div>`;
  }

  #entry({ name, kind, schema, isRequired }: Field, id: string, text: string, described: unknown) {
    if (kind === "choice") {
      // no option is selected in advance, so that the person always makes a decision such as "confirmed"
      return html`<select id=${id} name=${name} ?required=${isRequired} aria-describedby=${described}>
        <option value="" ?disabled=${isRequired} ?selected=${text === ""}>${isRequired ? texts.choose : texts.none}</option>
        ${(schema.enum ?? []).map((each, at) => html`<option value=${at} ?selected=${text === String(at)}>${choiceText(each)}</option>`)}
      </select>`;
    }
    const longest = schema.maxLength ?? nothing;
    if (kind === "text" && ((schema.maxLength ?? 0) > LONG || text.length > LONG || text.includes("\n"))) {
      return html`<textarea id=${id} name=${name} rows="3" dir="auto" maxlength=${longest} ?required=${isRequired}
        aria-describedby=${described} .value=${text}></textarea>`;
    }
    const type = kind === "number" ? "number" : (INPUT_TYPES.get(schema.format ?? "") ?? "text");
    const step = kind === "number" ? (schema.type === "integer" ? "1" : "any") : nothing;
    return html`<input id=${id} name=${name} type=${type} dir="auto" step=${step} min=${schema.minimum ?? nothing}
      max=${schema.maximum ?? nothing} maxlength=${longest} ?required=${isRequired} aria-describedby=${described} .value=${text} />`;
  }

  #json(
    name: string,
    label: string,
    value: unknown,
    note: unknown = nothing,
    given?: string,
    id = `${this.#id}-json`,
    described: unknown = nothing,
  ) {
    const text = given ?? (value === undefined ? "" : JSON.stringify(value, null, 2));
    const rows = Math.min(12, text.split("\n").length + 1);
    return html`<div class="field">
      <label for=${id}>${label}</label>
      <textarea id=${id} name=${name} class="code" rows=${rows} spellcheck="false" dir="ltr" aria-describedby=${described} .value=${text}></textarea>
      ${note}
    </div>`;
  }

  #readJson(input: Input | null, label: string): unknown {
    try {
      return parseJson(input?.value ?? "");
    } catch {
      throw new InvalidInput(texts.notJson(label), input);
    }
  }

  #input(name: string): Input | null {
    return this.querySelector<Input>(`[name="${CSS.escape(name)}"]`);
  }
}

customElements.define("callboard-form", FormElement);
