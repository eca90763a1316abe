/** Forms for JSON schemas: which fields a schema has, and the values of their inputs. Pure functions. */
import { parseJson, readNumber } from "../api/exact-integer.ts";
import { type Fields, hasOwn, isFields, type Schema } from "../api/wire.ts";
import { title } from "../format.ts";
import { visibleText } from "../visible-text.ts";
import { isSame } from "./history.ts";

export type FieldKind = "choice" | "check" | "number" | "text" | "json";

/** A field of a form. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly isRequired: boolean;
  readonly kind: FieldKind;
  readonly schema: Schema;
}

/** Properties above which a value is entered as JSON, and choices above which one is entered as text. */
const MAX_FIELDS = 200;
const MAX_CHOICES = 500;
/** References and alternatives that are followed. A schema may refer to itself. */
const MAX_DEPTH = 20;

/** The fields of an object's schema. Null if the schema is not that of an object with a few known properties. */
export function fieldsOf(schema: Schema): Field[] | null {
  const root = resolve(schema, schema);
  if (root.type !== "object" || !isFields(root.properties)) return null;
  if (Object.keys(root.properties).length > MAX_FIELDS) return null;
  const required = new Set(root.required ?? []);
  return Object.entries(root.properties).map(([name, given]) => {
    const found = resolve(given, schema);
    const isTitled = found.title !== undefined && found.title.toLowerCase() !== name.replaceAll("_", " ");
    return {
      name,
      label: isTitled ? (found.title ?? "") : title(name),
      hint: found.description ?? "",
      isRequired: required.has(name),
      kind: kindOf(found),
      schema: found,
    };
  });
}

/** The text of an input for a value. A choice has the position of the value, a check "true" or nothing. */
export function inputText({ kind, schema, isRequired }: Field, value: unknown): string {
  if (kind === "choice") {
    const position = (schema.enum ?? []).findIndex((each) => isSame(each, value));
    return position < 0 ? "" : String(position);
  }
  if (kind === "check") return value === true ? "true" : "";
  if (value === undefined || (value === null && (kind !== "json" || !isRequired))) return "";
  return kind === "json" ? JSON.stringify(value, null, 2) : String(value);
}

/** The value of an input's text; undefined if it is left out. Throws `SyntaxError` for invalid JSON. */
export function inputValue({ kind, schema, isRequired }: Field, text: string): unknown {
  if (kind === "check") return text === "true";
  if (kind === "text") return text === "" && !isRequired ? undefined : text;
  if (text.trim() === "" && !(kind === "json" && isRequired)) return undefined;
  if (kind === "choice") return schema.enum?.[Number(text)];
  return kind === "number" ? readNumber(text) : parseJson(text);
}

/** The text of a choice. A value that is not a text is JSON. */
export function choiceText(value: unknown): string {
  return visibleText(typeof value === "string" ? value : JSON.stringify(value));
}

/** A value as its tool reads it: its fields in their order, then the defaults of missing ones, without those of null. */
export function withDefaults(fields: readonly Field[], value: unknown): Fields {
  const given = isFields(value) ? value : {};
  const missing = fields.filter(({ name }) => !hasOwn(given, name)).map(({ name, schema }) => [name, schema.default]);
  const all: Fields = { ...given, ...Object.fromEntries(missing) };
  return Object.fromEntries(Object.entries(all).filter(([, each]) => each !== null && each !== undefined));
}

/** The names of what a form cannot show of a value without changing it. Null if the value is not an object. */
export function unsuitable(fields: readonly Field[], value: unknown): string[] | null {
  if (!isFields(value)) return null;
  const known = new Map(fields.map((field) => [field.name, field]));
  return Object.keys(value).filter((name) => {
    const field = known.get(name);
    if (field === undefined) return true;
    const shown = inputValue(field, inputText(field, value[name]));
    return !isSame(shown ?? field.schema.default ?? null, value[name]);
  });
}

function kindOf(schema: Schema): FieldKind {
  if (schema.enum !== undefined && schema.enum.length <= MAX_CHOICES) return "choice";
  if (schema.type === "boolean") return "check";
  if (schema.type === "integer" || schema.type === "number") return "number";
  return schema.type === "string" ? "text" : "json";
}

/**
 * A schema with its references resolved, without a null that only marks it as optional. A decimal number that may be
 * given as a text is a text, so that no digit is lost.
 */
function resolve(schema: Schema, root: Schema, depth = 0): Schema {
  let found: Schema = schema ?? {};
  for (; depth < MAX_DEPTH && found.$ref !== undefined; depth++) {
    const { $ref: path, ...own } = found;
    found = { ...follow(path, root), ...own };
  }
  if (depth >= MAX_DEPTH) return {};
  const choices = (found.anyOf ?? []).filter(({ type }) => type !== "null");
  const types = new Set(choices.map(({ type }) => type));
  const { anyOf: _, ...own } = found;
  const [first] = choices;
  if (choices.length === 1 && first !== undefined) found = { ...resolve(first, root, depth + 1), ...own };
  else if (choices.length === 2 && types.has("string") && types.has("number")) found = { ...own, type: "string" };
  if ("const" in found) found = { ...found, enum: [found.const] };
  return found;
}

function follow(path: string, root: Schema): Schema {
  const steps = path.replace(/^#\//, "").split("/");
  const target = steps.reduce<unknown>((place, step) => (hasOwn(place, step) ? place[step] : undefined), root);
  return isFields(target) ? (target as Schema) : {};
}
