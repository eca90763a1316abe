/** Forms for JSON schemas: which fields a schema has, and the values of their inputs. Pure functions. */
import { isFields, type Schema } from "../api/wire.ts";
import { title } from "../format.ts";

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

/** The fields of an object's schema. Null if the schema is not that of an object with known properties. */
export function fieldsOf(schema: Schema): Field[] | null {
  const root = resolve(schema, schema);
  if (root.type !== "object" || root.properties === undefined) return null;
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
export function inputText({ kind, schema }: Field, value: unknown): string {
  if (kind === "choice") {
    const position = (schema.enum ?? []).indexOf(value);
    return position < 0 ? "" : String(position);
  }
  if (kind === "check") return value === true ? "true" : "";
  if (value === undefined || (value === null && kind !== "json")) return "";
  return kind === "json" ? JSON.stringify(value, null, 2) : String(value);
}

/** The value of an input's text; undefined if it is left out. Throws `SyntaxError` for invalid JSON. */
export function inputValue({ kind, schema, isRequired }: Field, text: string): unknown {
  if (kind === "check") return text === "true";
  if (kind === "text") return text === "" && !isRequired ? undefined : text;
  if (text.trim() === "" && !(kind === "json" && isRequired)) return undefined;
  if (kind === "choice") return schema.enum?.[Number(text)];
  return kind === "number" ? Number(text) : (JSON.parse(text) as unknown);
}

function kindOf(schema: Schema): FieldKind {
  if (schema.enum !== undefined) return "choice";
  if (schema.type === "boolean") return "check";
  if (schema.type === "integer" || schema.type === "number") return "number";
  return schema.type === "string" ? "text" : "json";
}

/**
 * A schema with its references resolved, without a null that only marks it as optional. A decimal number that may be
 * given as a text is a text, so that no digit is lost.
 */
function resolve(schema: Schema, root: Schema): Schema {
  let found: Schema = schema ?? {};
  for (let depth = 0; depth < 20 && found.$ref !== undefined; depth++) {
    const { $ref: path, ...own } = found;
    found = { ...follow(path, root), ...own };
  }
  const choices = (found.anyOf ?? []).filter(({ type }) => type !== "null");
  const types = new Set(choices.map(({ type }) => type));
  const { anyOf: _, ...own } = found;
  const [first] = choices;
  if (choices.length === 1 && first !== undefined) found = { ...resolve(first, root), ...own };
  else if (choices.length === 2 && types.has("string") && types.has("number")) found = { ...own, type: "string" };
  if ("const" in found) found = { ...found, enum: [found.const] };
  return found;
}

function follow(path: string, root: Schema): Schema {
  const steps = path.replace(/^#\//, "").split("/");
  const target = steps.reduce<unknown>((place, step) => (isFields(place) ? place[step] : undefined), root);
  return isFields(target) ? (target as Schema) : {};
}
