/** Amounts of a chain's coin, as whole numbers of wei. Exact: no floating point. Pure functions. */

/** The largest number that a chain can express. */
export const MAX_UINT256 = (1n << 256n) - 1n;

/** Decimals of the units in which amounts are shown. */
export const ETHER = 18;
export const GWEI = 9;

const DECIMAL = /^[0-9]{1,78}$/;
const HEXADECIMAL = /^0x[0-9a-f]{1,64}$/i;
const AMOUNT = /^([0-9]{1,78})(?:\.([0-9]{1,78}))?$/;

/** Read a whole number of at most 256 bits: decimal or hexadecimal text, or a number without lost digits. */
export function readQuantity(given: unknown): bigint | null {
  if (typeof given === "number") return Number.isSafeInteger(given) && given >= 0 ? BigInt(given) : null;
  if (typeof given !== "string" || !(DECIMAL.test(given) || HEXADECIMAL.test(given))) return null;
  const value = BigInt(given);
  return value <= MAX_UINT256 ? value : null;
}

/** A number as the chain's interface expects it: hexadecimal, without leading zeros. */
export const toQuantity = (value: bigint): string => `0x${value.toString(16)}`;

/** An amount in a unit with so many decimals, in full, with groups of three digits before the point. */
export function formatUnits(value: bigint, decimals: number): string {
  const digits = value.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=(?:[0-9]{3})+$)/g, ",");
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

/** Read an amount in a unit with so many decimals. Null if it is not a number, or has more decimals than the unit. */
export function parseUnits(text: string, decimals: number): bigint | null {
  const [, whole, fraction = ""] = AMOUNT.exec(text.replaceAll(",", "")) ?? [];
  if (whole === undefined || fraction.length > decimals) return null;
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}
