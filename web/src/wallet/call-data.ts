/**
 * What the data of a transaction does: the function that it calls, with its arguments, and what is dangerous about it, or
 * the code of the contract that it creates. Pure functions.
 */
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import { type Argument, decodeArguments } from "./abi-decoder.ts";
import { type AbiFunction, parseSignature, readAbi, selectorOf, signatureOf } from "./abi-types.ts";

/** `unlimited`: the spender may take every token. `all`: the operator may take every item of a collection. */
export type Risk = "unlimited" | "all";

export interface KnownCall {
  readonly kind: "call";
  readonly name: string;
  readonly signature: string;
  readonly arguments: readonly Argument[];
  /** Whether the names are those of a token standard, and not those that the request gives. */
  readonly isStandard: boolean;
  readonly surplus: number;
  readonly risk: Risk | null;
}

export type CallData =
  | { readonly kind: "none" }
  | KnownCall
  /** Data of an unknown function. `selector` is null if there are fewer than four bytes. */
  | { readonly kind: "unknown"; readonly selector: string | null; readonly size: number }
  | Creation;

/** The code of a new contract. */
export interface Creation {
  readonly kind: "creation";
  readonly size: number;
  /** The Keccak-256 hash of the code. */
  readonly hash: string;
  /** The function that the code would call if it were call data, so that the recipient may have been forgotten. */
  readonly looksLike: string | null;
}

const STANDARD: readonly AbiFunction[] = [
  "transfer(address to, uint256 amount)",
  "approve(address spender, uint256 amount)",
  "transferFrom(address from, address to, uint256 amount)",
  "increaseAllowance(address spender, uint256 addedAmount)",
  "setApprovalForAll(address operator, bool approved)",
].map(parseSignature);

/** An allowance from which on it is practically unlimited. Some tokens store allowances in 96 bits. */
export const UNLIMITED = (1n << 96n) - 1n;

/**
 * Describe call data, which is hexadecimal with 0x and whole bytes.
 *
 * A function of the request's ABI is used only if its selector is that of the data. The request can still choose the
 * names of the arguments, and among functions with the same selector.
 */
export function describeCallData(data: string, abi: unknown = null): CallData {
  const size = (data.length - 2) / 2;
  if (size === 0) return { kind: "none" };
  if (size < 4) return { kind: "unknown", selector: null, size };
  const selector = data.slice(0, 10).toLowerCase();
  const bytes = hexToBytes(data.slice(10));
  for (const functions of [STANDARD, readAbi(abi)]) {
    for (const called of functions) {
      if (selectorOf(called) !== selector) continue;
      const found = decode(called, bytes, functions === STANDARD);
      if (found !== null) return found;
    }
  }
  return { kind: "unknown", selector, size };
}

/** Describe the code of a new contract, which is hexadecimal with 0x and whole bytes. */
export function describeCode(code: string, abi: unknown = null): CallData {
  const call = describeCallData(code, abi);
  if (call.kind === "none") return call;
  const bytes = hexToBytes(code.slice(2));
  const looksLike = call.kind === "call" ? call.signature : null;
  return { kind: "creation", size: bytes.length, hash: `0x${bytesToHex(keccak_256(bytes))}`, looksLike };
}

function decode(called: AbiFunction, bytes: Uint8Array, isStandard: boolean): KnownCall | null {
  try {
    const decoded = decodeArguments(called, bytes);
    const risk = isStandard ? riskOf(called.name, decoded.arguments) : null;
    return { kind: "call", name: called.name, signature: signatureOf(called), isStandard, risk, ...decoded };
  } catch {
    return null; // the data does not fit
  }
}

function riskOf(name: string, [, second]: readonly Argument[]): Risk | null {
  if (name === "setApprovalForAll") return second?.value === true ? "all" : null;
  const isAllowance = name === "approve" || name === "increaseAllowance";
  return isAllowance && typeof second?.value === "bigint" && second.value >= UNLIMITED ? "unlimited" : null;
}
