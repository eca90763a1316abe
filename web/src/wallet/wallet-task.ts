/**
 * One wallet request on its way: from the question in the wallet over its hash and its confirmations to the answer.
 *
 * It sends at most once, in all tabs and over reloads: it holds a lock while it sends and follows, and stores what it
 * did before it continues. It belongs to the page and not to an element, because the wallet's question outlives elements.
 */
import { walletTexts } from "../texts/wallet.ts";
import type { Wallet } from "./discovery.ts";
import type { ExclusiveLock } from "./exclusive-lock.ts";
import { estimateFees, type Fees } from "./fees.ts";
import { followTransaction, type Outcome, type Progress, START } from "./following.ts";
import { chainIdOf, nonceOf, sendTransaction, WalletError } from "./provider.ts";
import { type SentRecord, SentStore, type WalletAnswer } from "./sent-store.ts";
import { sendParameters, type TransactionRequest } from "./transaction.ts";
import { WalletConnection } from "./wallet-connection.ts";

export type Phase =
  /** Nothing was asked. */
  | { readonly kind: "idle" }
  /** The wallet asks the person. */
  | { readonly kind: "asking" }
  /** Another tab sends it. */
  | { readonly kind: "elsewhere"; readonly hash: string | null }
  /** The wallet was asked, and it is not known whether the transaction was sent. */
  | { readonly kind: "unsure"; readonly reason: string }
  /** It was sent. `needs` what is missing to follow it. */
  | { readonly kind: "following"; readonly hash: string; readonly progress: Progress; readonly needs: Need | null }
  /** Another transaction took its place. */
  | { readonly kind: "replaced"; readonly hash: string }
  /** The outcome is known, and has to reach the server. */
  | { readonly kind: "answering"; readonly answer: WalletAnswer };

/** What is missing to follow a transaction: a wallet, or its network. */
export type Need = "wallet" | "network";

export interface TaskEnvironment {
  readonly store: SentStore;
  readonly lock: ExclusiveLock;
  /** The wallets that are known now. */
  readonly wallets: () => readonly Wallet[];
  /** Called after every change. */
  readonly onChange: () => void;
  readonly now?: () => number;
  readonly follow?: typeof followTransaction;
}

export class WalletTask {
  readonly transaction: TransactionRequest;
  phase: Phase = { kind: "idle" };
  /** The chosen wallet, or null. */
  connection: WalletConnection | null = null;
  /** The estimated fees, or null until they are known. */
  fees: Fees | null = null;
  /** Why the wallet was not asked, or an empty text. */
  problem = "";
  readonly #id: string;
  readonly #environment: TaskEnvironment;
  readonly #ended = new AbortController();
  #following: AbortController | null = null;
  #estimated = "";

  constructor(requestId: string, transaction: TransactionRequest, environment: TaskEnvironment) {
    this.#id = requestId;
    this.transaction = transaction;
    this.#environment = environment;
  }

  /** Whether it must not be closed, because the hash would be lost. */
  get isAsking(): boolean {
    return this.phase.kind === "asking";
  }

  /** End the task. Another task can continue from the stored record. */
  close(): void {
    this.#ended.abort();
    this.#following?.abort();
    this.connection?.close();
    this.#environment.lock.release();
  }

  /** Let other tabs continue: the page is unloaded or enters the back/forward cache. `resume` takes over again. */
  suspend(): void {
    this.#following?.abort();
    this.#environment.lock.release();
    this.phase = { kind: "idle" };
  }

  /** Choose a wallet, or none (null). */
  choose(wallet: Wallet | null): void {
    if (wallet?.id === this.connection?.wallet.id) return;
    this.connection?.close();
    this.connection = wallet === null ? null : new WalletConnection(wallet, () => this.#onConnection());
    this.fees = null;
    this.problem = "";
    this.#changed();
    void this.connection?.refresh();
  }

  /** Go on with what was stored, here or in another tab. Call it at the start, and when the record or the wallets change. */
  async resume(): Promise<void> {
    const { store, lock } = this.#environment;
    if (this.isAsking || this.phase.kind === "answering" || this.#ended.signal.aborted) return;
    const found = store.get(this.#id);
    if (found === null) {
      if (this.phase.kind === "unsure") this.#set({ kind: "idle" }); // another tab has forgotten it
    } else if (await lock.take()) this.#continue();
    else await this.#waitElsewhere(found.hash);
  }

  /** Ask the wallet to sign and send the transaction. It does so once. */
  async send(): Promise<void> {
    const { connection, transaction } = this;
    const { store, lock, now = Date.now } = this.#environment;
    const from = connection?.senderOf(transaction) ?? null;
    if (this.phase.kind !== "idle" || connection === null || from === null) return;
    if (connection.stepTo(transaction) !== "ready" || transaction.invalid.length > 0) return;
    this.problem = "";
    this.#set({ kind: "asking" });
    const { provider, rdns } = connection.wallet;
    try {
      if (!(await lock.take())) return void this.#waitElsewhere(null);
      if (store.get(this.#id) !== null) return this.#continue();
      const chainId = await chainIdOf(provider);
      if (chainId !== connection.chainId) return this.#giveUp(walletTexts.networkChanged);
      const count = await nonceOf(provider, from, "pending").catch(() => null);
      const nonce = count === null ? null : String(count);
      const made = { at: now(), wallet: rdns, from, chainId: String(chainId), nonce, hash: null, answer: null };
      if (!store.set(this.#id, made)) return this.#giveUp(walletTexts.cannotStore);
      const hash = await sendTransaction(provider, sendParameters(transaction, from, chainId));
      const record = { ...made, hash };
      store.set(this.#id, record);
      void this.#follow(record, hash);
    } catch (error) {
      this.#onSendError(WalletError.of(error));
    }
  }

  /** Ask again, after the person has made sure that nothing was sent. */
  async forget(): Promise<void> {
    const { lock, store } = this.#environment;
    if (this.phase.kind !== "unsure" || !(await lock.take())) return;
    store.delete(this.#id);
    lock.release();
    this.problem = "";
    this.#set({ kind: "idle" });
  }

  /** Answer that the transaction failed, after the wallet reported an error. */
  reportFailure(): void {
    if (this.phase.kind !== "unsure") return;
    const detail = this.phase.reason === "" ? walletTexts.detailNotSent : walletTexts.detailError(this.phase.reason);
    this.#end({ status: "failed", detail });
  }

  /** Whether the account has sent nothing since the wallet was asked, or null if that is not known. */
  async hasSentNothing(): Promise<boolean | null> {
    const record = this.#environment.store.get(this.#id);
    const wallet = record === null ? undefined : this.#walletOf(record);
    if (record === null || record.nonce === null || wallet === undefined) return null;
    try {
      if ((await chainIdOf(wallet.provider)) !== BigInt(record.chainId)) return null;
      return (await nonceOf(wallet.provider, record.from, "pending")) === BigInt(record.nonce);
    } catch {
      return null;
    }
  }

  /** Wait until the tab that holds the lock is closed or gives up. */
  async #waitElsewhere(hash: string | null): Promise<void> {
    const isWaiting = this.phase.kind === "elsewhere";
    this.#set({ kind: "elsewhere", hash });
    if (!isWaiting && (await this.#environment.lock.wait(this.#ended.signal))) this.#continue();
  }

  #continue(): void {
    const { store, lock } = this.#environment;
    const record = store.get(this.#id);
    if (record?.answer != null) return this.#set({ kind: "answering", answer: record.answer });
    if (record?.hash != null) return void this.#follow(record, record.hash);
    lock.release();
    if (record === null) this.#set({ kind: "idle" });
    else if (this.phase.kind !== "unsure") this.#set({ kind: "unsure", reason: "" });
  }

  async #follow(record: SentRecord, hash: string): Promise<void> {
    this.#following?.abort();
    const mine = (this.#following = new AbortController());
    const progress = this.phase.kind === "following" ? this.phase.progress : START;
    const wallet = this.#walletOf(record);
    const needs = (need: Need | null) => this.#set({ kind: "following", hash, progress, needs: need });
    if (wallet === undefined) return needs("wallet");
    needs(null);
    if (this.connection?.wallet.id !== wallet.id) this.choose(wallet);
    const chainId = await chainIdOf(wallet.provider).catch(() => null);
    if (mine.signal.aborted) return;
    if (chainId !== null && chainId !== BigInt(record.chainId)) return needs("network");
    const { follow = followTransaction } = this.#environment;
    const outcome = await follow(wallet.provider, hash, {
      from: record.from,
      needed: this.transaction.confirmations,
      signal: mine.signal,
      onProgress: (next) => this.#set({ kind: "following", hash, progress: next, needs: null }),
    });
    if (outcome !== null && !mine.signal.aborted) this.#onOutcome(hash, outcome);
  }

  #onOutcome(hash: string, outcome: Outcome): void {
    if (outcome.kind === "replaced") return this.#set({ kind: "replaced", hash });
    const { kind: status, block, confirmations, contract } = outcome;
    const detail = status === "confirmed" ? walletTexts.detailConfirmed : walletTexts.detailReverted;
    const created = this.transaction.to === null && contract !== null ? { contract_address: contract } : {};
    this.#end({ status, transaction_hash: hash, ...created, detail: detail(String(block), confirmations) });
  }

  #onSendError(error: WalletError): void {
    const { store, lock } = this.#environment;
    if (error.kind === "rejected") return this.#end({ status: "rejected", detail: walletTexts.detailRejected });
    if (store.get(this.#id) === null || !error.mayHaveSent) {
      store.delete(this.#id);
      return this.#giveUp(walletTexts.error(error.kind, error.message));
    }
    lock.release();
    this.#set({ kind: "unsure", reason: error.message });
  }

  /** Store the outcome, so that it reaches the server also after a reload. */
  #end(answer: WalletAnswer): void {
    const { store } = this.#environment;
    const record = store.get(this.#id);
    if (record !== null) store.set(this.#id, { ...record, answer });
    this.#set({ kind: "answering", answer });
  }

  #giveUp(problem: string): void {
    this.problem = problem;
    this.#environment.lock.release();
    this.#set({ kind: "idle" });
    void this.connection?.refresh();
  }

  #walletOf({ wallet: rdns }: SentRecord): Wallet | undefined {
    const wallets = this.#environment.wallets();
    const chosen = this.connection?.wallet;
    return wallets.find((wallet) => wallet.rdns === rdns) ?? chosen ?? (wallets.length === 1 ? wallets[0] : undefined);
  }

  #onConnection(): void {
    if (this.phase.kind === "following" && this.phase.needs === "network") void this.resume();
    void this.#estimate();
    this.#changed();
  }

  /** Estimate the fees anew for another account or network. */
  async #estimate(): Promise<void> {
    const { connection, transaction, phase } = this;
    if (connection === null || phase.kind !== "idle" || transaction.invalid.length > 0) return;
    const [from, { chainId }] = [connection.senderOf(transaction), connection];
    if (from === null || chainId === null || connection.stepTo(transaction) !== "ready") return;
    const subject = `${connection.wallet.id} ${from} ${chainId}`;
    if (subject === this.#estimated && this.fees !== null) return;
    this.#estimated = subject;
    this.fees = null;
    const fees = await estimateFees(connection.wallet.provider, sendParameters(transaction, from, chainId));
    if (subject !== this.#estimated) return;
    this.fees = fees;
    this.#changed();
  }

  #set(phase: Phase): void {
    this.phase = phase;
    this.#changed();
  }

  #changed(): void {
    if (!this.#ended.signal.aborted) this.#environment.onChange();
  }
}
