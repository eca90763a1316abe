/** Texts of wallet requests. Those that start with `detail` are for the model. */
import { viewTexts } from "../texts.ts";
import type { Risk } from "../wallet/call-data.ts";
import type { WalletErrorKind } from "../wallet/provider.ts";
import type { Invalid } from "../wallet/transaction.ts";

const plural = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

export const walletTexts = viewTexts("wallet", {
  question: "Send this transaction?",

  amount: "Amount",
  to: "To",
  contract: "Contract",
  creates: "Creates a new contract",
  newContract: "New contract",
  code: "Code",
  codeSize: (count: number) => plural(count, "byte"),
  codeHash: "Keccak-256",
  from: "From",
  network: "Network",
  gasLimit: "Gas limit",
  fee: "Fee",
  calls: "Calls",
  data: "Data",
  says: "The request says",
  coin: "coins",
  gwei: "gwei",
  wei: "wei",
  invalidValue: "not a valid value",
  anyAccount: "any account",
  walletChooses: "chosen by your wallet",
  networkName: (id: string, name: string | null) => (name === null ? `Chain ${id}` : `${name} (chain ${id})`),
  testNetwork: "test network",
  anyNetwork: "not named: the network that your wallet uses",
  feeAbout: (amount: string, gas: string, price: string) => `about ${amount} (${gas} gas at ${price} gwei)`,
  feeLater: "known when your wallet is connected",
  feeLoading: "being estimated…",
  feeUnknown: "not known: your wallet shows it",
  standardCall: "token standard",
  namesOfRequest: "These names come from the request and are not verified.",
  smallestUnit: "in the smallest unit of the token",
  emptyList: "empty",
  showData: (count: number) => `Show ${plural(count, "byte")}`,
  moreBytes: (count: number) => `… and ${plural(count, "more byte")}`,

  risks: {
    unlimited: "This lets the spender take every token of this kind that you have, now and later.",
    all: "This lets the operator take every item of this collection that you have, now and later.",
  } satisfies Record<Risk, string>,
  unknownFunction: (selector: string) =>
    `The function ${selector} is not known here, so its effect cannot be shown. Send it only if you trust its source.`,
  unknownData: "The data cannot be read, so its effect cannot be shown. Send it only if you trust its source.",
  unknownCode: "What the code of the new contract does cannot be shown. Create it only if you trust its source.",
  codeIsCall: (signature: string) =>
    `The data is a call of ${signature} and not the code of a contract: the recipient seems to be missing.`,
  surplusData: (count: number) => `The data has ${plural(count, "byte")} at its end that belong to no argument.`,
  noChecksum: "The address has no checksum, so a mistyped digit cannot be noticed.",
  noNetwork: "The request does not specify a network. Check which network your wallet uses.",
  wouldFail: (reason: string) => `The network expects this transaction to fail: ${reason}`,
  tooExpensive: (balance: string) => `Your account has ${balance}, which is not enough for the amount and the fee.`,
  invalid: {
    to: "The recipient is not an address.",
    checksum: "The checksum of the recipient is wrong: the address was mistyped or changed.",
    code: "There is neither a recipient nor the code of a new contract.",
    value: "The amount is not a number that a transaction can have.",
    data: "The data is not hexadecimal, or has more than 128 KB.",
    gas_limit: "The gas limit is not a number.",
    chain_id: "The network is not a number.",
    from_address: "The account that is to send it is not an address.",
    confirmations: "The number of confirmations must be from 1 to 100.",
  } satisfies Record<Invalid, string>,
  cannotSend: "It cannot be sent from here.",

  searching: "Looking for wallets…",
  chooseWallet: "Choose a wallet",
  unnamedWallet: "your wallet",
  noWallet: "This browser has no wallet",
  noWalletHelp:
    "Install a wallet as an extension of this browser, or open this page in the browser of your wallet’s app. It then appears here automatically.",
  connect: (name: string) => `Connect ${name}`,
  connectHint: "The wallet asks you which accounts this page may see.",
  otherWallet: "Other wallet",
  notConnected: "not connected",
  wrongNetwork: (current: string, needed: string) => `Your wallet is on ${current}. This transaction is for ${needed}.`,
  switchTo: (network: string) => `Switch to ${network}`,
  unknownNetwork: "Your wallet cannot tell its network. Unlock it, or check its connection.",
  tryAgain: "Try again",
  wrongAccount: "This transaction must be sent from the account",
  chooseAccount: "Choose another account",
  sign: (name: string) => `Sign with ${name}`,
  signHint: "Your wallet shows the transaction once more. It is sent only after you confirm it there.",
  decline: "Decline…",
  whyDecline: "Why do you decline this transaction?",
  declineNow: "Decline",
  byHand: "Answer by hand",
  byHandHint: "For a transaction that you have sent, or refused, somewhere else. Nothing is sent from here.",

  asking: (name: string) => `Confirm or reject the transaction in ${name}.`,
  elsewhere: "Another tab of this browser is sending this transaction. It continues here when you close that tab.",
  elsewhereSent: "This transaction was sent. Another tab of this browser follows it.",
  unsure: "Your wallet was asked to send this transaction, and its answer is not known.",
  unsureError: (reason: string) => `Your wallet reported an error: ${reason || "without a reason"}`,
  unsureCheck: "Check in your wallet whether the transaction was sent before you try again.",
  sentNothing: "Your account has sent nothing since then.",
  sentSomething: "Your account has sent a transaction since then. If it is this one, answer by hand with its hash.",
  askAgain: "It was not sent: ask again",
  reportFailure: "Report the failure",
  hash: "Hash",
  waitingForBlock: "Sent. Waiting for a block…",
  inBlock: (block: string, count: number, needed: number) =>
    `In block ${block}: ${count} of ${plural(needed, "confirmation")}.`,
  progress: "Confirmations of the transaction",
  unreachable: "Your wallet does not respond at the moment.",
  needsWallet: "Open this page in the browser with the wallet that sent the transaction, to see its confirmations.",
  needsNetwork: (network: string) =>
    `Your wallet is on another network. Switch to ${network} to see the confirmations.`,
  replaced: "Another transaction from your account replaced this one. Check your wallet, and answer by hand.",
  outcome: {
    confirmed: "The transaction is confirmed.",
    rejected: "You rejected the transaction.",
    failed: "The transaction failed.",
  },
  reporting: "Telling the server…",
  reported: "The outcome was reported to the server.",
  notReported:
    "The server does not know the outcome yet. It is stored in this browser and will be resent automatically.",
  sendNow: "Send now",

  networkChanged: "The network of your wallet has changed. Check it, and try again.",
  cannotStore: "This browser does not let the page store anything, so a reload could send twice. Answer by hand.",
  error: (kind: WalletErrorKind, reason: string) => {
    const known: Partial<Record<WalletErrorKind, string>> = {
      rejected: "You refused this in your wallet. You can try again.",
      unauthorized: "Your wallet does not let this page use the account. Connect it again.",
      unsupported: "Your wallet cannot do this.",
      disconnected: "Your wallet has no connection to the network.",
      "unknown-chain": "Your wallet does not know this network. Add it in the wallet, and try again.",
      busy: "Your wallet already has an open request. Open the wallet to continue.",
    };
    return known[kind] ?? `Your wallet reported an error: ${reason || "without a reason"}`;
  },

  detailRejected: "The user rejected the transaction in the wallet.",
  detailDeclined: "The user declined the transaction.",
  detailConfirmed: (block: string, count: number) =>
    `The transaction succeeded in block ${block} and has ${plural(count, "confirmation")}.`,
  detailReverted: (block: string, count: number) =>
    `The transaction was included in block ${block} and failed there; it has ${plural(count, "confirmation")}.`,
  detailError: (reason: string) => `The wallet reported an error: ${reason}`,
  detailNotSent: "The user reports that the transaction was not sent.",
});
