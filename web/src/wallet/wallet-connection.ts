/** The wallet that a person has chosen: its accounts, its network, and the questions that connect it. */
import { isSameAddress } from "./address.ts";
import type { Wallet } from "./discovery.ts";
import {
  accountsOf,
  chainIdOf,
  readAccounts,
  requestAccounts,
  requestOtherAccounts,
  switchChain,
  WalletError,
} from "./provider.ts";
import type { TransactionRequest } from "./transaction.ts";
import { readQuantity } from "./units.ts";

/** The next thing to do until a transaction can be sent. */
export type Step = "connect" | "network" | "account" | "ready";

/** It listens to its wallet until `close`. */
export class WalletConnection {
  readonly wallet: Wallet;
  /** The accounts that the page may use. The one in use is the first. */
  accounts: readonly string[] = [];
  /** The network, or null while it is not known. */
  chainId: bigint | null = null;
  /** Whether the wallet asks the person something. */
  isBusy = false;
  error: WalletError | null = null;
  readonly #onChange: () => void;

  constructor(wallet: Wallet, onChange: () => void) {
    this.wallet = wallet;
    this.#onChange = onChange;
    wallet.provider.on?.("accountsChanged", this.#onAccounts);
    wallet.provider.on?.("chainChanged", this.#onChain);
  }

  close(): void {
    this.wallet.provider.removeListener?.("accountsChanged", this.#onAccounts);
    this.wallet.provider.removeListener?.("chainChanged", this.#onChain);
  }

  /** Read the accounts and the network, without a question to the person. */
  async refresh(): Promise<void> {
    const { provider } = this.wallet;
    const [accounts, chainId] = await Promise.allSettled([accountsOf(provider), chainIdOf(provider)]);
    if (accounts.status === "fulfilled") this.accounts = accounts.value;
    if (chainId.status === "fulfilled") this.chainId = chainId.value;
    else this.error = WalletError.of(chainId.reason);
    this.#onChange();
  }

  /** Ask the person to connect the wallet with the page. */
  connect(): Promise<void> {
    return this.#ask(async () => {
      this.accounts = await requestAccounts(this.wallet.provider);
    });
  }

  /** Ask the person to change to another network. */
  switchTo(chainId: bigint): Promise<void> {
    return this.#ask(() => switchChain(this.wallet.provider, chainId));
  }

  /** Ask the person for another account. */
  chooseAccount(): Promise<void> {
    return this.#ask(() => requestOtherAccounts(this.wallet.provider));
  }

  /** The account that sends a transaction: the one that it needs, or the one in use. Null if the page may not use it. */
  senderOf({ from }: Pick<TransactionRequest, "from">): string | null {
    if (from === null) return this.accounts[0] ?? null;
    return this.accounts.find((account) => isSameAddress(account, from.text)) ?? null;
  }

  /** What is missing until a transaction can be sent. */
  stepTo(transaction: Pick<TransactionRequest, "from" | "chainId">): Step {
    if (this.accounts.length === 0) return "connect";
    if (this.chainId === null) return "network";
    if (transaction.chainId !== null && transaction.chainId !== this.chainId) return "network";
    return this.senderOf(transaction) === null ? "account" : "ready";
  }

  async #ask(question: () => Promise<void>): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.error = null;
    this.#onChange();
    try {
      await question();
    } catch (error) {
      this.error = WalletError.of(error);
    }
    this.isBusy = false;
    await this.refresh();
  }

  readonly #onAccounts = (given: unknown) => {
    this.accounts = readAccounts(given);
    this.error = null;
    this.#onChange();
  };

  readonly #onChain = (given: unknown) => {
    this.chainId = readQuantity(given);
    this.error = null;
    this.#onChange();
  };
}
