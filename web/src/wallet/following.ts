/** Follow a transaction from its hash to its confirmations. */
import { blockNumberOf, nonceOf, nonceOfTransaction, type Provider, type Receipt, receiptOf } from "./provider.ts";

export interface Progress {
  /** The block of the transaction, or null while it is in none. */
  readonly block: bigint | null;
  readonly confirmations: number;
  /** Whether the wallet answered the last time. */
  readonly isReachable: boolean;
}

/** `replaced`: the sender has used its number for another transaction, which may do the same. */
export type Outcome =
  | {
      readonly kind: "confirmed" | "failed";
      readonly block: bigint;
      readonly confirmations: number;
      /** The contract that it created, or null. */
      readonly contract: string | null;
    }
  | { readonly kind: "replaced" };

export interface FollowOptions {
  readonly from: string;
  /** The number of confirmations to wait for. */
  readonly needed: number;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** Wait so many milliseconds, or until the signal aborts. */
  readonly sleep?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

export const START: Progress = Object.freeze({ block: null, confirmations: 0, isReachable: true });

const FIRST_DELAY = 1000; // milliseconds between two looks
const MAX_DELAY = 6000;
const REPLACED_AFTER = 3; // looks in which the number was used without a receipt, because nodes can lag behind

/** Follow a transaction until it is confirmed. Errors of the wallet are waited out. Null if the signal aborts first. */
export async function followTransaction(
  provider: Provider,
  hash: string,
  options: FollowOptions,
): Promise<Outcome | null> {
  const { from, needed, signal, onProgress, sleep = pause } = options;
  let [delay, used, nonce] = [FIRST_DELAY, 0, null as bigint | null];
  let progress = START;
  while (!signal.aborted) {
    try {
      const receipt = await receiptOf(provider, hash);
      if (receipt === null) {
        nonce ??= await nonceOfTransaction(provider, hash).catch(() => null);
        const isUsed = nonce !== null && (await nonceOf(provider, from)) > nonce;
        used = isUsed ? used + 1 : 0;
        if (used >= REPLACED_AFTER) return signal.aborted ? null : { kind: "replaced" };
        progress = START; // it may have left its block in a reorganisation
      } else {
        const confirmations = confirmationsOf(receipt, await blockNumberOf(provider));
        progress = { block: receipt.block, confirmations, isReachable: true };
        if (confirmations >= needed) {
          if (signal.aborted) return null;
          onProgress(progress);
          const { isSuccess, block, contract } = receipt;
          return { kind: isSuccess ? "confirmed" : "failed", block, confirmations, contract };
        }
      }
    } catch {
      progress = { ...progress, isReachable: false };
    }
    if (signal.aborted) return null;
    onProgress(progress);
    await sleep(delay, signal);
    delay = Math.min(MAX_DELAY, delay * 1.2);
  }
  return null;
}

/** The confirmations of a transaction: its own block, and those after it. */
export function confirmationsOf({ block }: Pick<Receipt, "block">, latest: bigint): number {
  return latest < block ? 1 : Number(latest - block) + 1;
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done);
  });
}
