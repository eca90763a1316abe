/**
 * The arguments of a contract call, decoded from its call data.
 *
 * Strict: data that no compiler would have written, such as an address with more than 20 bytes, is refused, so that what
 * is shown is all that the data can mean. The number of values is limited, because offsets can refer to the same bytes
 * again and again.
 */
import { bytesToHex } from "@noble/hashes/utils.js";
import { AbiError, type AbiFunction, type AbiType, type Parameter, typeName } from "./abi-types.ts";
import { withChecksum } from "./address.ts";

/** A decoded argument. The value of an array or a tuple is a list of arguments. */
export interface Argument {
  readonly name: string;
  /** The type as it is written in signatures. */
  readonly type: string;
  readonly value: bigint | boolean | string | readonly Argument[];
}

export interface DecodedArguments {
  readonly arguments: readonly Argument[];
  /** Bytes at the end of the data that belong to no argument. */
  readonly surplus: number;
}

const WORD = 32;
const MAX_VALUES = 2000;

/** Decode the bytes after the selector. Throws `AbiError` if they do not fit the function. */
export function decodeArguments({ inputs }: AbiFunction, data: Uint8Array): DecodedArguments {
  const reader = new Reader(data);
  const found = reader.fields(inputs, 0);
  return { arguments: found, surplus: Math.max(0, data.length - reader.end) };
}

/** Reads values. Positions are relative to the start of the data. */
class Reader {
  readonly #data: Uint8Array;
  #values = 0;
  /** The end of the last byte that belongs to a value. */
  end = 0;

  constructor(data: Uint8Array) {
    this.#data = data;
  }

  fields(parameters: readonly Parameter[], start: number): Argument[] {
    let head = start;
    return parameters.map(({ name, type }) => {
      const at = isDynamic(type) ? start + this.#length(head) : head;
      head += headSize(type);
      return { name, type: typeName(type), value: this.#value(type, at) };
    });
  }

  #value(type: AbiType, at: number): Argument["value"] {
    if (++this.#values > MAX_VALUES) throw new AbiError("The data has too many values.");
    switch (type.kind) {
      case "uint":
        return this.#unsigned(at, type.bits);
      case "int":
        return this.#signed(at, type.bits);
      case "bool": {
        return this.#unsigned(at, 1) === 1n;
      }
      case "address":
        return withChecksum(`0x${this.#unsigned(at, 160).toString(16).padStart(40, "0")}`);
      case "fixed-bytes": {
        const word = this.#bytes(at, WORD);
        if (word.subarray(type.size).some((byte) => byte !== 0)) throw new AbiError("A value is longer than its type.");
        return `0x${bytesToHex(word.subarray(0, type.size))}`;
      }
      case "bytes":
        return `0x${bytesToHex(this.#counted(at))}`;
      case "string":
        return this.#text(this.#counted(at));
      case "tuple":
        return this.fields(type.fields, at);
      case "array":
        return this.#array(type.item, type.length, at);
    }
  }

  #array(item: AbiType, fixed: number | null, at: number): Argument[] {
    const length = fixed ?? this.#length(at);
    if (length > MAX_VALUES) throw new AbiError("An array has too many items.");
    const items = Array.from({ length }, (_, number): Parameter => ({ name: String(number), type: item }));
    return this.fields(items, fixed === null ? at + WORD : at);
  }

  #counted(at: number): Uint8Array {
    const length = this.#length(at);
    const found = this.#bytes(at + WORD, length);
    const padded = at + WORD + Math.ceil(length / WORD) * WORD;
    this.end = Math.max(this.end, Math.min(padded, this.#data.length));
    return found;
  }

  #text(bytes: Uint8Array): string {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new AbiError("A text is not valid UTF-8.");
    }
  }

  /** A length or an offset, which lies inside of the data. */
  #length(at: number): number {
    const value = this.#unsigned(at, 256);
    if (value > BigInt(this.#data.length)) throw new AbiError("A value lies outside of the data.");
    return Number(value);
  }

  #unsigned(at: number, bits: number): bigint {
    const value = BigInt(`0x${bytesToHex(this.#bytes(at, WORD))}`);
    if (value >> BigInt(bits) !== 0n) throw new AbiError("A number is larger than its type.");
    return value;
  }

  #signed(at: number, bits: number): bigint {
    const word = this.#unsigned(at, 256);
    const value = BigInt.asIntN(bits, word);
    if (BigInt.asUintN(256, value) !== word) throw new AbiError("A number is larger than its type.");
    return value;
  }

  #bytes(at: number, length: number): Uint8Array {
    if (at + length > this.#data.length) throw new AbiError("The data is too short.");
    this.end = Math.max(this.end, at + length);
    return this.#data.subarray(at, at + length);
  }
}

function isDynamic(type: AbiType): boolean {
  if (type.kind === "array") return type.length === null || isDynamic(type.item);
  if (type.kind === "tuple") return type.fields.some((field) => isDynamic(field.type));
  return type.kind === "bytes" || type.kind === "string";
}

/** Bytes of a type at its place: its value, or the offset of a dynamic one. */
function headSize(type: AbiType): number {
  if (isDynamic(type)) return WORD;
  if (type.kind === "array") return (type.length ?? 0) * headSize(type.item);
  if (type.kind === "tuple") return type.fields.reduce((size, field) => size + headSize(field.type), 0);
  return WORD;
}
