/** The transaction of a request, read from its unchecked payload. Pure functions. */
import { isFields } from "../api/wire.ts";
import { type Address, readAddress } from "./address.ts";
import { type CallData, describeCallData, describeCode } from "./call-data.ts";
import { readQuantity, toQuantity } from "./units.ts";
import { visibleText } from "../visible-text.ts";

/** A field that cannot be used. `code`: there is neither a recipient nor the code of a new contract. */
export type Invalid =
  "to" | "checksum" | "code" | "value" | "data" | "gas_limit" | "chain_id" | "from_address" | "confirmations";

export interface TransactionRequest {
  /** The recipient. Null if the transaction creates a contract, or if it cannot be read. */
  readonly to: Address | null;
  /** The amount in wei. */
  readonly value: bigint | null;
  /** Hexadecimal with 0x; null if it cannot be read. */
  readonly data: string | null;
  readonly call: CallData;
  readonly gasLimit: bigint | null;
  /** The network, or null if the request names none. */
  readonly chainId: bigint | null;
  /** The account that is to send it, or null for any. */
  readonly from: Address | null;
  /** What the request says that it does. */
  readonly description: string;
  /** The number of blocks after which it counts as confirmed. */
  readonly confirmations: number;
  /** Fields that cannot be used. A transaction with any is not sent. */
  readonly invalid: readonly Invalid[];
}

const DATA = /^0x(?:[0-9a-fA-F]{2})*$/;
const MAX_DATA = 2 + 2 * 128 * 1024; // characters
const MAX_CONFIRMATIONS = 100;
const MAX_CHAIN_ID = BigInt(Number.MAX_SAFE_INTEGER);

/** Read a payload. Fields that cannot be used are listed, and null. */
export function readTransaction(payload: unknown): TransactionRequest {
  const given = isFields(payload) ? payload : {};
  const invalid: Invalid[] = [];
  const optional = <T>(name: string, field: Invalid, read: (value: unknown) => T | null): T | null => {
    const value = given[name];
    if (value === undefined || value === null || value === "") return null;
    const found = read(value);
    if (found === null) invalid.push(field);
    return found;
  };
  const hasRecipient = given["to"] !== undefined && given["to"] !== null;
  const to = readAddress(given["to"]);
  if (hasRecipient && to === null) invalid.push("to");
  if (to?.checksum === "wrong") invalid.push("checksum");
  const value = readQuantity(given["value"] ?? 0);
  if (value === null) invalid.push("value");
  const data = readData(given["data"]);
  if (data === null) invalid.push("data");
  else if (!hasRecipient && data === "0x") invalid.push("code");
  const describe = hasRecipient ? describeCallData : describeCode;
  const gasLimit = optional("gas_limit", "gas_limit", readQuantity);
  const chainId = optional("chain_id", "chain_id", readChainId);
  const from = optional("from_address", "from_address", readSender);
  const confirmations = optional("confirmations", "confirmations", readConfirmations) ?? 1;
  return {
    to,
    value,
    data,
    call: describe(data ?? "0x", given["abi"]),
    gasLimit,
    chainId,
    from,
    description: typeof given["description"] === "string" ? visibleText(given["description"], 2000) : "",
    confirmations,
    invalid,
  };
}

/** The parameter of `eth_sendTransaction`. Raises `TypeError` for a transaction with invalid fields. */
export function sendParameters(
  { to, value, data, call, gasLimit, invalid }: TransactionRequest,
  from: string,
  chainId: bigint,
): Readonly<Record<string, string>> {
  if (invalid.length > 0 || (to === null) !== (call.kind === "creation") || value === null || data === null) {
    throw new TypeError("the transaction has invalid fields");
  }
  return {
    from,
    ...(to === null ? {} : { to: to.text }),
    value: toQuantity(value),
    data,
    chainId: toQuantity(chainId),
    ...(gasLimit === null ? {} : { gas: toQuantity(gasLimit) }),
  };
}

function readData(given: unknown): string | null {
  const text = given ?? "0x";
  if (typeof text !== "string" || text.length > MAX_DATA) return null;
  return text === "" ? "0x" : DATA.test(text) ? text.toLowerCase() : null;
}

function readChainId(given: unknown): bigint | null {
  const id = readQuantity(given);
  return id !== null && id > 0n && id <= MAX_CHAIN_ID ? id : null;
}

function readSender(given: unknown): Address | null {
  const address = readAddress(given);
  return address?.checksum === "wrong" ? null : address;
}

function readConfirmations(given: unknown): number | null {
  const count = readQuantity(given);
  return count !== null && count >= 1n && count <= MAX_CONFIRMATIONS ? Number(count) : null;
}
