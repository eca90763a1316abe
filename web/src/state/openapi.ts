/** An OpenAPI document as groups of operations, with schemas for forms. Pure functions; the document is not trusted. */
import { type Fields, hasOwn, isFields, type Schema } from "../api/wire.ts";
import { title } from "../format.ts";

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

export type Place = "path" | "query" | "header";

export interface Parameter {
  readonly name: string;
  readonly place: Place;
  readonly isRequired: boolean;
  readonly description: string;
  readonly schema: Schema;
}

export interface ResponseInfo {
  readonly status: string;
  readonly description: string;
  readonly mediaType: string;
  readonly schema: Schema | null;
}

export interface Operation {
  /** The id in the document, which is also that of the link. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly group: string;
  readonly parameters: readonly Parameter[];
  /** The schema of the body, which contains the definitions that it refers to. Null without a body. */
  readonly body: Schema | null;
  readonly isBodyRequired: boolean;
  readonly responses: readonly ResponseInfo[];
  /** Whether the response is a stream of server-sent events. */
  readonly isStream: boolean;
}

export interface OperationGroup {
  readonly name: string;
  readonly operations: readonly Operation[];
}

/** The operations of a document in its order, by the first part of their paths. Anything unknown is left out. */
export function groupsOf(document: unknown, others: string): OperationGroup[] {
  const groups = new Map<string, Operation[]>();
  for (const operation of operationsOf(document, others)) {
    const known = groups.get(operation.group);
    if (known === undefined) groups.set(operation.group, [operation]);
    else known.push(operation);
  }
  const found = [...groups].map(([name, operations]) => ({ name, operations }));
  return [...found.filter(({ name }) => name !== others), ...found.filter(({ name }) => name === others)];
}

/** The operations that contain all words of a search in their method, path, summary or id. */
export function searchGroups(groups: readonly OperationGroup[], search: string): OperationGroup[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return groups.flatMap(({ name, operations }) => {
    const found = operations.filter((each) => {
      const text = `${each.method} ${each.path} ${each.summary} ${each.id}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    return found.length === 0 ? [] : [{ name, operations: found }];
  });
}

/** The schema of a form for the parameters of an operation. Null without parameters. */
export function parametersSchema(parameters: readonly Parameter[]): Schema | null {
  if (parameters.length === 0) return null;
  const ordered = [...parameters].sort((one, other) => Number(other.isRequired) - Number(one.isRequired));
  return {
    type: "object",
    properties: Object.fromEntries(
      ordered.map(({ name, schema, description }) => [
        name,
        { title: name, ...schema, description: description || schema.description || "" },
      ]),
    ),
    required: parameters.filter(({ isRequired }) => isRequired).map(({ name }) => name),
  };
}

/** A schema with its reference resolved, for display. */
export function resolved(schema: Schema): Schema {
  let found = schema;
  for (let depth = 0; depth < 10 && found.$ref !== undefined; depth++) {
    const target = follow(schema, found.$ref);
    if (target === null) break;
    found = { ...target, ...("components" in schema ? { components: schema["components"] } : {}) } as Schema;
  }
  return found;
}

/** The name of a schema's type for people: `string`, `list of Event`, `number or null`. */
export function typeName(schema: Schema, depth = 0): string {
  if (depth > 4) return "…";
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1) ?? "";
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => typeName(each, depth + 1)).join(" | ");
  const items = (schema as Fields)["items"];
  if (schema.type === "array") return isFields(items) ? `${typeName(items as Schema, depth + 1)}[]` : "array";
  return schema.type ?? "any";
}

function* operationsOf(document: unknown, others: string): Generator<Operation> {
  const paths = isFields(document) ? document["paths"] : null;
  const components = isFields(document) ? document["components"] : null;
  if (!isFields(paths)) return;
  const seen = new Set<string>();
  for (const [path, item] of Object.entries(paths)) {
    for (const method of METHODS) {
      const found = isFields(item) ? item[method] : null;
      if (!isFields(found)) continue;
      const operation = operationOf(path, method, found, components, others);
      if (seen.has(operation.id)) continue;
      seen.add(operation.id);
      yield operation;
    }
  }
}

function operationOf(path: string, method: string, found: Fields, components: unknown, others: string): Operation {
  const whole = (schema: unknown): Schema | null => (isFields(schema) ? ({ ...schema, components } as Schema) : null);
  const body = isFields(found["requestBody"]) ? found["requestBody"] : null;
  const responses = responsesOf(found["responses"], whole);
  return {
    id: text(found["operationId"]) || `${method} ${path}`,
    method: method.toUpperCase(),
    path,
    summary: text(found["summary"]),
    group: groupOf(path, others),
    parameters: list(found["parameters"]).flatMap((each) => parameterOf(each)),
    body: body === null ? null : withoutNullDefaults(whole(contentOf(body).schema)),
    isBodyRequired: body?.["required"] === true,
    responses,
    isStream: responses.some(({ mediaType }) => mediaType === "text/event-stream"),
  };
}

/** A schema of an object without defaults that are null: a field of a form is left out instead. */
function withoutNullDefaults(schema: Schema | null): Schema | null {
  const found = schema === null ? null : resolved(schema);
  if (found?.properties === undefined) return found;
  const entries = Object.entries(found.properties).map(([name, { default: value, ...rest }]): [string, Schema] => [
    name,
    value === null || value === undefined ? rest : { ...rest, default: value },
  ]);
  return { ...found, properties: Object.fromEntries(entries) };
}

function parameterOf(found: unknown): Parameter[] {
  if (!isFields(found)) return [];
  const place = found["in"];
  const name = text(found["name"]);
  if (name === "" || (place !== "path" && place !== "query" && place !== "header")) return [];
  const schema = (isFields(found["schema"]) ? found["schema"] : {}) as Schema;
  const isRequired = found["required"] === true || place === "path";
  return [{ name, place, isRequired, description: text(found["description"]), schema }];
}

function responsesOf(found: unknown, whole: (schema: unknown) => Schema | null): ResponseInfo[] {
  if (!isFields(found)) return [];
  return Object.entries(found).flatMap(([status, response]) => {
    if (!isFields(response)) return [];
    const { mediaType, schema } = contentOf(response);
    return [{ status, description: text(response["description"]), mediaType, schema: whole(schema) }];
  });
}

function contentOf(found: Fields): { mediaType: string; schema: unknown } {
  const content = isFields(found["content"]) ? found["content"] : {};
  const [mediaType = "", given = null] = Object.entries(content)[0] ?? [];
  return { mediaType, schema: isFields(given) ? given["schema"] : null };
}

function groupOf(path: string, others: string): string {
  const [first = "", second = ""] = path.split("/").slice(1);
  return first === "api" && second !== "" && !second.startsWith("{") ? title(second) : others;
}

function follow(root: Schema, path: string): Schema | null {
  const steps = path.replace(/^#\//, "").split("/");
  const target = steps.reduce<unknown>((place, step) => (hasOwn(place, step) ? place[step] : undefined), root);
  return isFields(target) ? (target as Schema) : null;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
