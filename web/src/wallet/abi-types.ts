/** Types and functions of contracts, from the JSON of an ABI or from signatures such as `transfer(address to, uint256)`. */
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { isFields } from "../api/wire.ts";

export type AbiType =
  | { readonly kind: "uint" | "int"; readonly bits: number }
  | { readonly kind: "address" | "bool" | "string" | "bytes" }
  | { readonly kind: "fixed-bytes"; readonly size: number }
  | { readonly kind: "array"; readonly item: AbiType; readonly length: number | null }
  | { readonly kind: "tuple"; readonly fields: readonly Parameter[] };

export interface Parameter {
  readonly name: string;
  readonly type: AbiType;
}

export interface AbiFunction {
  readonly name: string;
  readonly inputs: readonly Parameter[];
}

/** An ABI, a signature or call data that cannot be read. */
export class AbiError extends Error {
  override readonly name = "AbiError";
}

const MAX_DEPTH = 8;
const MAX_PARAMETERS = 64;
const MAX_FUNCTIONS = 1000;
const MAX_SIGNATURE = 4000;
const MAX_LENGTH = 10_000; // items of an array with a fixed length
const NAME = /^[A-Za-z_$][\w$]{0,200}$/;

/** The functions of an ABI: a signature, or a list of signatures and JSON entries. Entries that cannot be read are left out. */
export function readAbi(given: unknown): AbiFunction[] {
  const entries: unknown[] = Array.isArray(given) ? given.slice(0, MAX_FUNCTIONS) : [given];
  return entries.flatMap((entry) => {
    try {
      if (typeof entry === "string") return [parseSignature(entry)];
      return isFields(entry) && (entry["type"] ?? "function") === "function" ? [readEntry(entry)] : [];
    } catch {
      return [];
    }
  });
}

/** Read a signature, with or without names: `function transfer(address to, uint256 amount) returns (bool)`. */
export function parseSignature(text: string): AbiFunction {
  if (text.length > MAX_SIGNATURE) throw new AbiError("The signature is too long.");
  const [, name, rest] = /^\s*(?:function\s+)?([^\s(]+)\s*(\(.*)$/s.exec(text) ?? [];
  if (name === undefined || rest === undefined || !NAME.test(name)) throw new AbiError("The signature has no name.");
  const inner = rest.slice(1, closing(rest));
  return { name, inputs: parseParameters(inner, 0) };
}

/** The name of a type as selectors are computed from it. */
export function typeName(type: AbiType): string {
  switch (type.kind) {
    case "uint":
    case "int":
      return `${type.kind}${type.bits}`;
    case "fixed-bytes":
      return `bytes${type.size}`;
    case "array":
      return `${typeName(type.item)}[${type.length ?? ""}]`;
    case "tuple":
      return `(${type.fields.map((field) => typeName(field.type)).join(",")})`;
    default:
      return type.kind;
  }
}

/** The signature that a selector is computed from: `transfer(address,uint256)`. */
export const signatureOf = ({ name, inputs }: AbiFunction): string =>
  `${name}(${inputs.map(({ type }) => typeName(type)).join(",")})`;

/** The first four bytes of call data that call a function, in hexadecimal with 0x. */
export const selectorOf = (called: AbiFunction): string =>
  `0x${bytesToHex(keccak_256(utf8ToBytes(signatureOf(called)))).slice(0, 8)}`;

function readEntry(entry: Readonly<Record<string, unknown>>): AbiFunction {
  const name = entry["name"];
  if (typeof name !== "string" || !NAME.test(name)) throw new AbiError("A function has no name.");
  return { name, inputs: readParameters(entry["inputs"] ?? [], 0) };
}

function readParameters(given: unknown, depth: number): Parameter[] {
  if (!Array.isArray(given) || given.length > MAX_PARAMETERS || depth > MAX_DEPTH) {
    throw new AbiError("The parameters cannot be read.");
  }
  return given.map((each: unknown) => {
    if (!isFields(each) || typeof each["type"] !== "string") throw new AbiError("A parameter has no type.");
    const name = typeof each["name"] === "string" ? each["name"] : "";
    const [, base = "", suffix = ""] = /^([^[]*)((?:\[.*)?)$/.exec(each["type"]) ?? [];
    if (base !== "tuple") return { name, type: parseType(each["type"], depth) };
    return { name, type: withSuffix(tuple(readParameters(each["components"], depth + 1)), suffix, depth) };
  });
}

function parseParameters(text: string, depth: number): Parameter[] {
  if (text.trim() === "") return [];
  const parts = splitList(text);
  if (parts.length > MAX_PARAMETERS) throw new AbiError("The function has too many parameters.");
  return parts.map((part) => {
    const trimmed = part.trim();
    const start = trimmed.startsWith("tuple(") ? 5 : 0;
    const end = trimmed[start] === "(" ? closing(trimmed, start) : -1;
    const typeEnd = end < 0 ? 0 : end + 1;
    const [, suffix = "", words = ""] = /^(\S*)(.*)$/s.exec(trimmed.slice(typeEnd)) ?? [];
    const names = words
      .split(/\s+/)
      .filter((word) => !["", "indexed", "memory", "calldata", "storage", "payable"].includes(word));
    return { name: names.at(-1) ?? "", type: parseType(trimmed.slice(0, typeEnd) + suffix, depth) };
  });
}

function parseType(text: string, depth: number): AbiType {
  if (depth > MAX_DEPTH) throw new AbiError("The type is nested too deeply.");
  const start = text.startsWith("tuple(") ? 5 : 0;
  if (text[start] === "(") {
    const end = closing(text, start);
    return withSuffix(tuple(parseParameters(text.slice(start + 1, end), depth + 1)), text.slice(end + 1), depth);
  }
  const [, base = "", suffix = ""] = /^([a-z]+[0-9]*)((?:\[.*)?)$/.exec(text) ?? [];
  return withSuffix(elementary(base), suffix, depth);
}

function elementary(name: string): AbiType {
  if (name === "address" || name === "bool" || name === "string" || name === "bytes") return { kind: name };
  const [, kind, digits] = /^(uint|int|bytes)([1-9][0-9]{0,2})?$/.exec(name) ?? [];
  const size = Number(digits ?? 256);
  if (kind === "bytes" && size <= 32) return { kind: "fixed-bytes", size };
  if ((kind === "uint" || kind === "int") && size <= 256 && size % 8 === 0) return { kind, bits: size };
  throw new AbiError(`The type ${name.slice(0, 40)} is not known.`);
}

function withSuffix(base: AbiType, suffix: string, depth: number): AbiType {
  let type = base;
  const lengths = [...suffix.matchAll(/\[([0-9]{0,5})\]/g)];
  if (lengths.map(([all]) => all).join("") !== suffix || lengths.length + depth > MAX_DEPTH) {
    throw new AbiError("The type of an array cannot be read.");
  }
  for (const [, length] of lengths) {
    const items = length === "" || length === undefined ? null : Number(length);
    if (items !== null && (items === 0 || items > MAX_LENGTH))
      throw new AbiError("An array has a length that is not allowed.");
    type = { kind: "array", item: type, length: items };
  }
  return type;
}

function tuple(fields: readonly Parameter[]): AbiType {
  if (fields.length === 0) throw new AbiError("A tuple has no fields.");
  return { kind: "tuple", fields };
}

/** The position of the parenthesis that closes the one at a position. */
function closing(text: string, start = 0): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === "(") depth++;
    else if (text[at] === ")" && --depth === 0) return at;
  }
  throw new AbiError("A parenthesis is not closed.");
}

/** Split a list at its outer commas. */
function splitList(text: string): string[] {
  const parts: string[] = [];
  let [depth, from] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "(") depth++;
    else if (text[at] === ")") depth--;
    else if (text[at] === "," && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, text.slice(from)];
}
