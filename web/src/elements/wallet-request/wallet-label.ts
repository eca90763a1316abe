/** Names and icons of wallets and accounts. */
import { html, nothing } from "lit";
import { walletTexts as texts } from "../../texts/wallet.ts";
import type { Wallet } from "../../wallet/discovery.ts";

export const nameOf = (wallet: Wallet | null): string => wallet?.name || texts.unnamedWallet;

/** The start and the end of an account's address, for a wallet that the person knows. */
export const shortened = (account: string): string => `${account.slice(0, 8)}…${account.slice(-6)}`;

export function icon(wallet: Wallet) {
  return wallet.icon === null ? nothing : html`<img class="icon" src=${wallet.icon} alt="" />`;
}

/** A wallet with its icon. */
export function named(wallet: Wallet) {
  return html`<span class="named">${icon(wallet)}<span dir="auto">${nameOf(wallet)}</span></span>`;
}
