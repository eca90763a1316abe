// A form for an answer, generated from its JSON schema. Values without a suitable field are entered as JSON.

import { make } from "./elements.js";

const CAPITALS = new Set(["api", "html", "http", "id", "ip", "json", "sql", "uri", "url", "utc"]);

let count = 0;

/** The fields for a schema: `{element, read}`; `read` returns the answer, or throws an error with a message for people. */
export function answerForm(schema) {
  const root = resolved(schema, schema);
  if (root.type !== "object" || !root.properties) return json("Answer (JSON)", undefined);
  const required = new Set(root.required ?? []);
  const fields = Object.entries(root.properties).map(([name, given]) => {
    return { name, ...field(name, resolved(given, schema), required.has(name)) };
  });
  return {
    element: make("div", { class: "fields" }, ...fields.map((each) => each.element)),
    read() {
      const answer = {};
      for (const each of fields) {
        const value = each.read();
        if (value !== undefined) answer[each.name] = value;
      }
      return answer;
    },
  };
}

/** A field for JSON. */
export function json(label, value) {
  const id = `f${count++}`;
  const text = value === undefined ? "" : JSON.stringify(value, null, 2);
  const input = make("textarea", { id, class: "code", rows: String(Math.min(12, text.split("\n").length + 1)) });
  input.spellcheck = false;
  input.value = text;
  return {
    element: make("div", { class: "field" }, make("label", { for: id }, label), input),
    read() {
      try {
        return JSON.parse(input.value);
      } catch {
        input.focus();
        throw new Error(`${label}: this is not valid JSON.`);
      }
    },
  };
}

function field(name, schema, required) {
  const id = `f${count++}`;
  const label = schema.title && schema.title.toLowerCase() !== name.replaceAll("_", " ") ? schema.title : title(name);
  const hint = schema.description ? make("p", { class: "hint", id: `${id}-hint` }, schema.description) : null;
  const described = hint ? { "aria-describedby": hint.id } : {};
  let input;
  let read;
  if (Array.isArray(schema.enum)) {
    input = make("select", { id, ...described });
    // no option is selected in advance, so that the person always makes a decision such as "confirmed"
    input.append(make("option", { value: "", disabled: required, selected: true }, required ? "Choose…" : "—"));
    schema.enum.forEach((each, index) => input.append(make("option", { value: String(index) }, String(each))));
    if ("default" in schema && schema.enum.includes(schema.default)) input.value = String(schema.enum.indexOf(schema.default));
    read = () => (input.value === "" ? undefined : schema.enum[Number(input.value)]);
  } else if (schema.type === "boolean") {
    input = make("input", { id, type: "checkbox", ...described });
    input.checked = schema.default === true;
    const element = make("div", { class: "field check" }, make("label", { for: id }, input, label), hint);
    return { element, read: () => input.checked };
  } else if (schema.type === "integer" || schema.type === "number") {
    input = make("input", { id, type: "number", step: schema.type === "integer" ? "1" : "any", ...described });
    if (schema.minimum !== undefined) input.min = schema.minimum;
    if (schema.maximum !== undefined) input.max = schema.maximum;
    if (typeof schema.default === "number") input.value = String(schema.default);
    read = () => (input.value === "" ? undefined : Number(input.value));
  } else if (schema.type === "string") {
    const long = (schema.maxLength ?? 0) > 200;
    const type = { date: "date", email: "email", uri: "url" }[schema.format] ?? "text";
    input = make(long ? "textarea" : "input", { id, ...(long ? { rows: "3" } : { type }), ...described });
    if (schema.maxLength) input.maxLength = schema.maxLength;
    if (typeof schema.default === "string") input.value = schema.default;
    read = () => (input.value === "" && !required ? undefined : input.value);
  } else {
    const made = json(label, schema.default);
    const area = made.element.querySelector("textarea");
    return { element: made.element, read: () => (area.value.trim() === "" && !required ? undefined : made.read()) };
  }
  input.required = required;
  return { element: make("div", { class: "field" }, make("label", { for: id }, label), input, hint), read };
}

/** A schema with its references resolved, and without a null that only marks it as optional. */
function resolved(schema, root) {
  let found = schema ?? {};
  for (let depth = 0; depth < 20 && typeof found.$ref === "string"; depth++) {
    const { $ref: path, ...own } = found;
    const target = path.replace(/^#\//, "").split("/").reduce((place, step) => place?.[step], root);
    found = { ...(target ?? {}), ...own };
  }
  const choices = (found.anyOf ?? []).filter((each) => each.type !== "null");
  if (found.anyOf && choices.length === 1) {
    const { anyOf: _, ...own } = found;
    found = { ...resolved(choices[0], root), ...own };
  }
  if ("const" in found) found = { ...found, enum: [found.const] };
  return found;
}

export function title(name) {
  const words = String(name)
    .split(/[_ ]/)
    .map((word) => (CAPITALS.has(word) ? word.toUpperCase() : word))
    .join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
