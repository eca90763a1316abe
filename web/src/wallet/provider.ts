/** Calls to a wallet (EIP-1193), with checked results, and its errors. */
import { isFields } from "../api/wire.ts";
import { readAddress } from "./address.ts";
import { readQuantity, toQuantity } from "./units.ts";
import { visibleText } from "../visible-text.ts";

/** A wallet's interface for pages. */
export interface Provider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
  on?(event: string, listener: (given: unknown) => void): unknown;
  removeListener?(event: string, listener: (given: unknown) => void): unknown;
}

/**
 * What an error of a wallet means.
 *
 * `rejected`: the person refused. `unauthorized`: the page may not use the account. `unsupported`: the wallet lacks the
 * method. `disconnected`: the wallet has no connection. `unknown-chain`: the wallet does not know the network. `busy`: the
 * same question is still open in the wallet. `invalid`: the wallet refused the parameters. `failed`: anything else.
 */
export type WalletErrorKind =
  "rejected" | "unauthorized" | "unsupported" | "disconnected" | "unknown-chain" | "busy" | "invalid" | "failed";

const KINDS: ReadonlyMap<number, WalletErrorKind> = new Map([
  [4001, "rejected"],
  [4100, "unauthorized"],
  [4200, "unsupported"],
  [4900, "disconnected"],
  [4901, "disconnected"],
  [4902, "unknown-chain"],
  [-32002, "busy"],
  [-32600, "invalid"],
  [-32601, "unsupported"],
  [-32602, "invalid"],
  [-32004, "unsupported"],
]);
/** Errors after which the wallet has sent nothing. */
const HARMLESS: ReadonlySet<WalletErrorKind> = new Set([
  "rejected",
  "unauthorized",
  "unsupported",
  "unknown-chain",
  "invalid",
]);
const HASH = /^0x[0-9a-fA-F]{64}$/;
const READ_TIMEOUT = 15_000; // milliseconds

/** An error of a wallet. Its message can be shown. */
export class WalletError extends Error {
  override readonly name = "WalletError";
  readonly kind: WalletErrorKind;
  readonly code: number | null;

  constructor(kind: WalletErrorKind, message: string, code: number | null = null) {
    super(message);
    this.kind = kind;
    this.code = code;
  }

  /** Whether a transaction may have been sent in spite of the error. */
  get mayHaveSent(): boolean {
    return !HARMLESS.has(this.kind);
  }

  /** The error of anything that a wallet threw. Some wallets wrap the original error in `data` or `cause`. */
  static of(thrown: unknown): WalletError {
    if (thrown instanceof WalletError) return thrown;
    const errors = chain(thrown);
    const codes = errors.map((error) => error["code"]).filter((code) => typeof code === "number");
    const known = codes.find((code) => KINDS.has(code));
    const message = errors.map((error) => error["message"]).find((text) => typeof text === "string" && text !== "");
    const text = visibleText(message ?? (typeof thrown === "string" ? thrown : ""), 500);
    const isRefusal = errors.some((error) => error["code"] === "ACTION_REJECTED");
    const kind = isRefusal ? "rejected" : (KINDS.get(known ?? 0) ?? "failed");
    return new WalletError(kind, text, known ?? codes[0] ?? null);
  }
}

/** A receipt, as far as it is used. */
export interface Receipt {
  readonly block: bigint;
  readonly isSuccess: boolean;
  /** The contract that the transaction created, or null. */
  readonly contract: string | null;
}

/** The accounts that the page may use, without a question to the person. */
export const accountsOf = async (provider: Provider): Promise<string[]> =>
  readAccounts(await read(provider, "eth_accounts"));

/** Ask the person which accounts the page may use. */
export const requestAccounts = async (provider: Provider): Promise<string[]> =>
  readAccounts(await call(provider, "eth_requestAccounts"));

/** Ask the person for other accounts, although the page may use some. */
export async function requestOtherAccounts(provider: Provider): Promise<void> {
  await call(provider, "wallet_requestPermissions", [{ eth_accounts: {} }]);
}

export const chainIdOf = (provider: Provider): Promise<bigint> => quantity(provider, "eth_chainId");

export async function switchChain(provider: Provider, chainId: bigint): Promise<void> {
  await call(provider, "wallet_switchEthereumChain", [{ chainId: toQuantity(chainId) }]);
}

/** Have the person sign and send a transaction. Returns its hash. There is no time limit: the person decides. */
export async function sendTransaction(
  provider: Provider,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  const hash = await call(provider, "eth_sendTransaction", [parameters]);
  if (typeof hash !== "string" || !HASH.test(hash)) throw new WalletError("failed", "The wallet returned no hash.");
  return hash.toLowerCase();
}

export const estimateGas = (provider: Provider, parameters: Readonly<Record<string, string>>): Promise<bigint> =>
  quantity(provider, "eth_estimateGas", [parameters]);

export const gasPriceOf = (provider: Provider): Promise<bigint> => quantity(provider, "eth_gasPrice");

export const balanceOf = (provider: Provider, account: string): Promise<bigint> =>
  quantity(provider, "eth_getBalance", [account, "latest"]);

export const blockNumberOf = (provider: Provider): Promise<bigint> => quantity(provider, "eth_blockNumber");

/** The number of transactions that an account has sent: in blocks, or also (`pending`) those that wait. */
export const nonceOf = (provider: Provider, account: string, block: "latest" | "pending" = "latest"): Promise<bigint> =>
  quantity(provider, "eth_getTransactionCount", [account, block]);

/** The receipt of a transaction. Null while it is in no block. */
export async function receiptOf(provider: Provider, hash: string): Promise<Receipt | null> {
  const found = await read(provider, "eth_getTransactionReceipt", [hash]);
  if (found === null || found === undefined) return null;
  const fields = isFields(found) ? found : {};
  const [block, status] = [readQuantity(fields["blockNumber"]), readQuantity(fields["status"])];
  const isSame = String(fields["transactionHash"] ?? hash).toLowerCase() === hash.toLowerCase();
  if (block === null || status === null || !isSame) throw new WalletError("failed", "The receipt cannot be read.");
  const isSuccess = status === 1n;
  const contract = readAddress(fields["contractAddress"]);
  const isCreated = isSuccess && contract !== null && contract.checksum !== "wrong"; // some nodes name it after a failure
  return { block, isSuccess, contract: isCreated ? contract.text : null };
}

/** The number of a known transaction in the order of its sender's, or null if the network does not know it. */
export async function nonceOfTransaction(provider: Provider, hash: string): Promise<bigint | null> {
  const found = await read(provider, "eth_getTransactionByHash", [hash]);
  return isFields(found) ? readQuantity(found["nonce"]) : null;
}

async function quantity(provider: Provider, method: string, params: readonly unknown[] = []): Promise<bigint> {
  const value = readQuantity(await read(provider, method, params));
  if (value === null) throw new WalletError("failed", `The wallet gave no number for ${method}.`);
  return value;
}

/** Read from the wallet, which may take a limited time. */
async function read(provider: Provider, method: string, params: readonly unknown[] = []): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new WalletError("disconnected", `The wallet did not respond to ${method}.`);
    timer = setTimeout(() => reject(error), READ_TIMEOUT);
  });
  try {
    return await Promise.race([call(provider, method, params), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function call(provider: Provider, method: string, params: readonly unknown[] = []): Promise<unknown> {
  try {
    return await provider.request({ method, params });
  } catch (error) {
    throw WalletError.of(error);
  }
}

/** Read a list of accounts. The one in use is the first. */
export function readAccounts(given: unknown): string[] {
  return (Array.isArray(given) ? given : []).flatMap((each) => readAddress(each)?.text ?? []);
}

/** An error and the errors in it, outermost first. */
function chain(thrown: unknown): Readonly<Record<string, unknown>>[] {
  const found: Readonly<Record<string, unknown>>[] = [];
  let next = thrown;
  for (let depth = 0; depth < 5 && typeof next === "object" && next !== null; depth++) {
    const error = next as Readonly<Record<string, unknown>>;
    found.push(error);
    const data = isFields(error["data"]) ? error["data"] : {};
    next = data["originalError"] ?? error["cause"] ?? error["error"] ?? data["cause"];
  }
  return found;
}
