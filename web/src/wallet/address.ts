/** Addresses of accounts and contracts, with the checksum of EIP-55. Pure functions. */
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** `valid`, `none` if the address has no letters in both cases, or `wrong`: a letter was mistyped. */
export type Checksum = "valid" | "none" | "wrong";

export interface Address {
  /** The address with the letters of its checksum, or as it was given if its checksum is wrong. */
  readonly text: string;
  readonly checksum: Checksum;
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** Read an address. Null if it is not one. */
export function readAddress(given: unknown): Address | null {
  if (typeof given !== "string" || !ADDRESS.test(given)) return null;
  const digits = given.slice(2);
  const text = withChecksum(given);
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) {
    return { text, checksum: /[a-f]/i.test(digits) ? "none" : "valid" };
  }
  return text === given ? { text, checksum: "valid" } : { text: given, checksum: "wrong" };
}

/** Whether two texts are the same address. */
export const isSameAddress = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/** An address of 40 hexadecimal digits, in the letters of its checksum. */
export function withChecksum(address: string): string {
  const digits = address.slice(2).toLowerCase();
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)));
  return `0x${[...digits].map((digit, at) => (Number.parseInt(hash.charAt(at), 16) > 7 ? digit.toUpperCase() : digit)).join("")}`;
}
