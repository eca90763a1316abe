/** The state of a wallet request in words: what happens, or what is missing until the transaction can be signed. */
import { html } from "lit";
import { walletTexts as texts } from "../../texts/wallet.ts";
import { networkOf } from "../../wallet/networks.ts";
import type { WalletTask } from "../../wallet/wallet-task.ts";
import type { WalletTasks } from "../../wallet/wallet-tasks.ts";
import { networkName } from "./transaction-details.ts";
import { nameOf } from "./wallet-label.ts";

type Search = Pick<WalletTasks, "wallets" | "isSearching">;

export const nameOfNetwork = (chainId: bigint): string => networkName(networkOf(chainId));

/** `sentNothing` as `WalletTask.hasSentNothing` says; `report` whether the server knows the outcome, in words. */
export function statusOf(task: WalletTask, search: Search, sentNothing: boolean | null, report: string): unknown {
  const { phase, transaction } = task;
  switch (phase.kind) {
    case "idle":
      return transaction.invalid.length > 0 ? "" : missing(task, search);
    case "asking":
      return texts.asking(nameOf(task.connection?.wallet ?? null));
    case "elsewhere":
      return phase.hash === null ? texts.elsewhere : texts.elsewhereSent;
    case "unsure": {
      const seen = sentNothing === null ? "" : sentNothing ? texts.sentNothing : texts.sentSomething;
      return `${phase.reason === "" ? texts.unsure : texts.unsureError(phase.reason)} ${texts.unsureCheck} ${seen}`;
    }
    case "following": {
      const { block, confirmations, isReachable } = phase.progress;
      const needed = transaction.confirmations;
      const text = block === null ? texts.waitingForBlock : texts.inBlock(String(block), confirmations, needed);
      return isReachable ? text : `${text} ${texts.unreachable}`;
    }
    case "replaced":
      return texts.replaced;
    case "answering":
      return `${texts.outcome[phase.answer.status]} ${report}`;
  }
}

function missing({ connection, transaction }: WalletTask, { wallets, isSearching }: Search): unknown {
  if (connection === null) {
    if (wallets.length > 0) return wallets.length > 1 ? texts.chooseWallet : "";
    return isSearching ? texts.searching : html`<span class="strong">${texts.noWallet}.</span> ${texts.noWalletHelp}`;
  }
  const step = connection.stepTo(transaction);
  if (step === "account") return html`${texts.wrongAccount} <code dir="ltr">${transaction.from?.text}</code>.`;
  if (step !== "network") return "";
  if (connection.chainId === null || transaction.chainId === null) return texts.unknownNetwork;
  return texts.wrongNetwork(nameOfNetwork(connection.chainId), nameOfNetwork(transaction.chainId));
}
