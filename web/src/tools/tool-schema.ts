/**
 * The JSON schema of a tool's arguments, in the default form of Callboard, which every provider accepts: no references
 * (except for recursive types), no titles, no unions with null. A nullable property is not required, and leaving it out
 * means null.
 */
import { toJSONSchema, type $ZodType } from "zod/v4/core";
import { RegistrationError } from "./errors.ts";

/** A JSON schema, as data. */
export type JsonSchema = Record<string, unknown>;

const DROPPED = new Set(["$schema", "$id", "$defs", "id", "title"]);
/** Keywords whose value is a schema, a list of schemas, or schemas by name. Others hold data, which may look like a schema. */
const SINGLE = new Set(["items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"]);
const LISTED = new Set(["prefixItems", "allOf", "anyOf", "oneOf"]);
const NAMED = new Set(["properties", "patternProperties"]);

/** Make the schema. Throws `RegistrationError` for types that JSON cannot express, and for arguments that are no object. */
export function parametersOf(toolName: string, schema: $ZodType): JsonSchema {
  let made: JsonSchema;
  try {
    made = toJSONSchema(schema, { io: "input", reused: "inline" }) as JsonSchema;
  } catch (error) {
    throw new RegistrationError(`The schema of the tool ${toolName} has a type that JSON cannot express.`, {
      cause: error,
    });
  }
  const cleaned = new Cleaner(made).clean();
  if (cleaned["type"] !== "object") {
    throw new RegistrationError(`The schema of the tool ${toolName} must be an object, because arguments have names.`);
  }
  return { ...cleaned, properties: cleaned["properties"] ?? {} };
}

/** Cleans one document. */
class Cleaner {
  readonly #document: JsonSchema;
  readonly #definitions: Readonly<Record<string, JsonSchema>>;
  /** Cleaned definitions of recursive types, by name. */
  readonly #kept: Record<string, JsonSchema> = {};
  /** The references that are being inlined. */
  readonly #open: string[] = [];

  constructor(document: JsonSchema) {
    this.#document = document;
    this.#definitions = (document["$defs"] ?? {}) as Record<string, JsonSchema>;
  }

  clean(): JsonSchema {
    const { schema } = this.#clean(this.#document);
    return Object.keys(this.#kept).length > 0 ? { ...schema, $defs: this.#kept } : schema;
  }

  /** Return the cleaned schema, and whether the original admitted null. */
  #clean(given: JsonSchema): { schema: JsonSchema; nullable: boolean } {
    const { $ref: reference, ...beside } = given;
    if (typeof reference === "string") return this.#inline(reference, beside);
    const schema: JsonSchema = {};
    let optional: string[] = [];
    for (const [keyword, value] of Object.entries(given)) {
      if (DROPPED.has(keyword) || keyword === "required" || keyword === "anyOf" || keyword === "oneOf") continue;
      if (NAMED.has(keyword)) {
        const made = Object.entries(value as Record<string, JsonSchema>).map(
          ([name, each]) => [name, this.#clean(each)] as const,
        );
        schema[keyword] = Object.fromEntries(made.map(([name, each]) => [name, each.schema]));
        if (keyword === "properties") optional = made.filter(([, each]) => each.nullable).map(([name]) => name);
      } else if (LISTED.has(keyword)) {
        schema[keyword] = (value as JsonSchema[]).map((each) => this.#clean(each).schema);
      } else if (SINGLE.has(keyword) && isObject(value)) {
        schema[keyword] = this.#clean(value).schema;
      } else if (!isSafeInteger(keyword, value)) {
        schema[keyword] = value;
      }
    }
    const required = ((given["required"] ?? []) as string[]).filter((name) => !optional.includes(name));
    if (required.length > 0) schema["required"] = required;
    if (schema["type"] === "array" && !isObject(schema["items"])) schema["items"] = {}; // OpenAI requires a schema
    if (Array.isArray(schema["enum"])) schema["enum"] = schema["enum"].filter((value) => value !== null);
    const { type, ...rest } = schema;
    if (!Array.isArray(type)) {
      return this.#withUnion(schema, [given["anyOf"] ?? [], given["oneOf"] ?? []].flat() as JsonSchema[]);
    }
    return this.#withUnion(
      rest,
      type.map((each: unknown) => ({ type: each })),
    );
  }

  /** Add the branches of a union, without null. A single branch is not a union. */
  #withUnion(schema: JsonSchema, union: readonly JsonSchema[]): { schema: JsonSchema; nullable: boolean } {
    const made = union.map((each) => this.#clean(each));
    const isNull = (each: JsonSchema) => each["type"] === "null";
    const branches = made.map((each) => each.schema).filter((each) => !isNull(each));
    const nullable = made.some((each) => each.nullable || isNull(each.schema));
    if (branches.length === 0) return { schema: nullable ? { ...schema, type: "null" } : schema, nullable: false };
    const [only] = branches;
    if (branches.length === 1) return { schema: { ...only, ...schema }, nullable };
    return { schema: { ...schema, anyOf: branches.flatMap(unionOf) }, nullable };
  }

  #inline(reference: string, beside: JsonSchema): { schema: JsonSchema; nullable: boolean } {
    const name = reference === "#" ? "root" : reference.replace("#/$defs/", "");
    const target = reference === "#" ? { ...this.#document, $defs: undefined } : (this.#definitions[name] ?? {});
    if (this.#open.includes(name)) {
      this.#kept[name] ??= {}; // it is recursive, and the call that inlines it fills it in
      return { schema: { $ref: `#/$defs/${name}` }, nullable: false };
    }
    this.#open.push(name);
    const made = this.#clean(target);
    this.#open.pop();
    if (this.#kept[name] !== undefined) this.#kept[name] = made.schema;
    return { schema: { ...made.schema, ...this.#clean(beside).schema }, nullable: made.nullable };
  }
}

function unionOf(branch: JsonSchema): JsonSchema[] {
  return Object.keys(branch).length === 1 && Array.isArray(branch["anyOf"])
    ? (branch["anyOf"] as JsonSchema[])
    : [branch];
}

/** Whether a bound is only the range of JavaScript's integers, which Zod adds to every integer. */
function isSafeInteger(keyword: string, value: unknown): boolean {
  return (
    (keyword === "minimum" && value === Number.MIN_SAFE_INTEGER) ||
    (keyword === "maximum" && value === Number.MAX_SAFE_INTEGER)
  );
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
