/**
 * JSON whose integers keep all their digits.
 *
 * JavaScript rounds integers above 2^53, such as ids and amounts of Python. Those of a parsed text are `ExactInteger`
 * instead of numbers, and `JSON.stringify` writes their digits unchanged. A browser that is too old for this reads
 * rounded numbers, as `isRounded` says.
 */

/** What newer browsers have, and the types of TypeScript lack. */
interface NewerJson {
  parse(text: string, reviver: (key: string, value: unknown, context?: { source?: string }) => unknown): unknown;
  rawJSON?(text: string): unknown;
}

const json = JSON as unknown as NewerJson;
const INTEGER = /^-?\d+$/;
const LARGE = /(^|[[,:\s-])\d{16}/; // the numbers that may be too large are longer

/** An integer that no number is equal to. */
export class ExactInteger {
  readonly #digits: string;

  constructor(digits: string) {
    this.#digits = digits;
  }

  toString(): string {
    return this.#digits;
  }

  toJSON(): unknown {
    return json.rawJSON?.(this.#digits) ?? Number(this.#digits);
  }
}

/** Whether this browser keeps the digits of large integers. */
export const keepsDigits = json.rawJSON !== undefined && isExact(parseJson("9007199254740993"));

/** Parse a text as `JSON.parse` does, with exact integers. Raises `SyntaxError`. */
export function parseJson(text: string): unknown {
  if (!LARGE.test(text)) return JSON.parse(text) as unknown;
  return json.parse(text, (_, value, context) =>
    typeof value === "number" && context?.source !== undefined ? readNumber(context.source) : value,
  );
}

/** Read a number from its text. A large integer is exact. */
export function readNumber(text: string): number | ExactInteger {
  const digits = text.trim();
  const number = Number(digits);
  return !INTEGER.test(digits) || Number.isSafeInteger(number) ? number : new ExactInteger(String(BigInt(digits)));
}

/** Whether a value is an exact integer. */
export function isExact(value: unknown): value is ExactInteger {
  return value instanceof ExactInteger;
}

/** Whether a value is a single one: neither a list nor an object. Null is an object. */
export function isPlain(value: unknown): boolean {
  return typeof value !== "object" || isExact(value);
}

/** Whether this browser may have changed digits in a value. */
export function isRounded(value: unknown, isKept = keepsDigits): boolean {
  if (isKept) return false;
  if (typeof value === "object" && value !== null) return Object.values(value).some((each) => isRounded(each, isKept));
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}
