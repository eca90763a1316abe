/**
 * What the page has asked a wallet to send, by request, so that neither a reload nor another tab sends it again.
 *
 * A record is written before the wallet is asked, again as soon as the hash is known, and again with the outcome.
 */
import { isFields } from "../api/wire.ts";
import type { TextStorage } from "../state/storage.ts";

/** The answer to a wallet request, as the server expects it. */
export interface WalletAnswer {
  readonly status: "confirmed" | "rejected" | "failed";
  readonly transaction_hash?: string;
  readonly contract_address?: string;
  readonly detail?: string;
}

export interface SentRecord {
  /** When the wallet was asked, in milliseconds. */
  readonly at: number;
  /** The lasting id of the wallet. */
  readonly wallet: string;
  readonly from: string;
  /** The network, in decimal. */
  readonly chainId: string;
  /** The number of transactions that the account had sent before, in decimal, or null if that is not known. */
  readonly nonce: string | null;
  /** Null until the wallet has returned it. */
  readonly hash: string | null;
  /** Null until the outcome is known. */
  readonly answer: WalletAnswer | null;
}

const PREFIX = "callboard.wallet.";
const INDEX = "callboard.wallet-index";
const KEPT = 90 * 24 * 3600 * 1000; // milliseconds
const STATUSES: ReadonlySet<unknown> = new Set(["confirmed", "rejected", "failed"]);

export class SentStore {
  readonly #storage: TextStorage;
  readonly #now: () => number;

  constructor(storage: TextStorage, now: () => number = Date.now) {
    this.#storage = storage;
    this.#now = now;
  }

  /** The key under which a request's record is stored. */
  static keyOf(requestId: string): string {
    return PREFIX + requestId;
  }

  get(requestId: string): SentRecord | null {
    try {
      return readRecord(JSON.parse(this.#storage.get(SentStore.keyOf(requestId)) ?? "null"));
    } catch {
      return null;
    }
  }

  /** Store a record. Returns whether it is stored: a browser may forbid it. */
  set(requestId: string, record: SentRecord): boolean {
    const text = JSON.stringify(record);
    this.#storage.set(SentStore.keyOf(requestId), text);
    if (this.#storage.get(SentStore.keyOf(requestId)) !== text) return false;
    this.#remember(requestId, record.at);
    return true;
  }

  /** Forget a record, after the person has said that nothing was sent. */
  delete(requestId: string): void {
    this.#storage.set(SentStore.keyOf(requestId), null);
  }

  /** Keep a list of the records, and delete those that are too old to matter. */
  #remember(requestId: string, at: number): void {
    const kept = Object.entries({ ...this.#index(), [requestId]: at }).filter(([id, time]) => {
      const isRecent = typeof time === "number" && this.#now() - time < KEPT;
      if (!isRecent) this.delete(id);
      return isRecent;
    });
    this.#storage.set(INDEX, JSON.stringify(Object.fromEntries(kept)));
  }

  #index(): Readonly<Record<string, unknown>> {
    try {
      const found: unknown = JSON.parse(this.#storage.get(INDEX) ?? "{}");
      return isFields(found) ? found : {};
    } catch {
      return {};
    }
  }
}

function readRecord(given: unknown): SentRecord | null {
  if (!isFields(given)) return null;
  const { at, wallet, from, chainId, nonce, hash, answer } = given;
  const digits = (value: unknown) => (typeof value === "string" && /^[0-9]{1,20}$/.test(value) ? value : null);
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  return {
    at: typeof at === "number" ? at : 0,
    wallet: text(wallet),
    from: text(from),
    chainId: digits(chainId) ?? "0",
    nonce: digits(nonce),
    hash: typeof hash === "string" ? hash : null,
    answer: isFields(answer) && STATUSES.has(answer["status"]) ? (answer as unknown as WalletAnswer) : null,
  };
}
