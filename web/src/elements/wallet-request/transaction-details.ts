/** The transaction of a wallet request for the person who signs it: amount, recipient, call, network, fees and warnings. */
import { html, nothing, type TemplateResult } from "lit";
import { walletTexts as texts } from "../../texts/wallet.ts";
import type { Argument } from "../../wallet/abi-decoder.ts";
import type { Address } from "../../wallet/address.ts";
import type { Creation, KnownCall } from "../../wallet/call-data.ts";
import { type Fees, feeOf, isTooExpensive } from "../../wallet/fees.ts";
import type { Network } from "../../wallet/networks.ts";
import type { TransactionRequest } from "../../wallet/transaction.ts";
import { ETHER, formatUnits, GWEI } from "../../wallet/units.ts";
import { visibleText } from "../../visible-text.ts";

const SHOWN_DATA = 1024; // bytes of raw data

/** What is known beside the transaction. */
export interface Context {
  /** The network of the request, or of the wallet if the request names none. */
  readonly network: Network | null;
  /** The account that sends, or null until it is known. */
  readonly sender: string | null;
  readonly fees: Fees | null;
  /** Whether the fees are being estimated. */
  readonly isEstimating: boolean;
}

/** An amount of the network's coin, in full. */
export function coins(value: bigint, network: Network | null): string {
  return `${formatUnits(value, ETHER)} ${network?.symbol ?? texts.coin}`;
}

export const networkName = ({ id, name }: Network): string => texts.networkName(String(id), name);

export function transactionDetails(transaction: TransactionRequest, context: Context): TemplateResult {
  const { to, value, call, gasLimit, from, description } = transaction;
  const { network } = context;
  const sender = from?.text ?? context.sender;
  return html`${headline(transaction, network)}
    ${
      description === ""
        ? nothing
        : html`<div class="says"><span class="hint">${texts.says}</span><blockquote dir="auto">${description}</blockquote></div>`
    }
    <dl class="facts transaction">
      <dt>${call.kind === "none" ? texts.to : texts.contract}</dt>
      <dd data-fact="to">${call.kind === "creation" ? html`<strong>${texts.creates}</strong>` : address(to)}</dd>
      ${call.kind === "creation" ? html`<dt>${texts.code}</dt><dd data-fact="code">${code(transaction, call)}</dd>` : nothing}
      ${call.kind === "call" ? html`<dt>${texts.calls}</dt><dd data-fact="call">${knownCall(call)}</dd>` : nothing}
      ${call.kind === "unknown" ? html`<dt>${texts.data}</dt><dd data-fact="data">${rawData(transaction)}</dd>` : nothing}
      ${value === null || call.kind === "none" ? nothing : html`<dt>${texts.amount}</dt><dd>${coins(value, network)}</dd>`}
      <dt>${texts.from}</dt>
      <dd data-fact="from">${sender === null ? texts.anyAccount : html`<code dir="ltr">${sender}</code>`}</dd>
      <dt>${texts.network}</dt>
      <dd data-fact="network">${
        network === null
          ? texts.anyNetwork
          : html`${networkName(network)}${network.isTest ? html` <span class="tag">${texts.testNetwork}</span>` : nothing}`
      }</dd>
      <dt>${texts.gasLimit}</dt>
      <dd data-fact="gas">${gasLimit === null ? texts.walletChooses : formatUnits(gasLimit, 0)}</dd>
      <dt>${texts.fee}</dt>
      <dd data-fact="fee">${fee(context)}</dd>
    </dl>
    ${warnings(transaction, context)}`;
}

/** The amount, or the effect if no coins are sent: the name of the function, or a new contract. */
function headline({ value, call }: TransactionRequest, network: Network | null) {
  if (value === null) return html`<p class="headline">${texts.invalidValue}</p>`;
  if (value === 0n && call.kind === "call")
    return html`<p class="headline"><code>${visibleText(call.name, 60)}</code></p>`;
  if (value === 0n && call.kind === "creation") return html`<p class="headline">${texts.newContract}</p>`;
  return html`<p class="headline" data-fact="value">${coins(value, network)}</p>
    <p class="hint units">${formatUnits(value, GWEI)} ${texts.gwei} · ${formatUnits(value, 0)} ${texts.wei}</p>`;
}

function address(given: Address | null) {
  return given === null ? texts.invalidValue : html`<code dir="ltr">${given.text}</code>`;
}

function fee(context: Context): string {
  const { fees, network, isEstimating } = context;
  if (fees === null) return isEstimating ? texts.feeLoading : texts.feeLater;
  const amount = feeOf(fees);
  if (amount === null || fees.gas === null || fees.price === null) return texts.feeUnknown;
  return texts.feeAbout(coins(amount, network), formatUnits(fees.gas, 0), formatUnits(fees.price, GWEI));
}

function knownCall(call: KnownCall) {
  return html`<code>${visibleText(call.signature, 200)}</code>
    ${call.isStandard ? html`<span class="tag">${texts.standardCall}</span>` : nothing}
    ${argumentList(call.arguments, call.isStandard)}
    ${call.isStandard ? nothing : html`<p class="hint">${texts.namesOfRequest}</p>`}`;
}

function argumentList(given: readonly Argument[], isStandard: boolean): TemplateResult {
  return html`<dl class="arguments">
    ${given.map(
      ({ name, type, value }, at) =>
        html`<dt title=${type}>${visibleText(name, 60) || String(at)}</dt>
          <dd>${argumentValue(value, type, isStandard)}</dd>`,
    )}
  </dl>`;
}

function argumentValue(value: Argument["value"], type: string, isStandard: boolean) {
  if (typeof value === "bigint") {
    const digits = `${value < 0n ? "−" : ""}${formatUnits(value < 0n ? -value : value, 0)}`;
    return isStandard ? html`${digits} <span class="hint">${texts.smallestUnit}</span>` : digits;
  }
  if (typeof value === "boolean") return String(value);
  if (typeof value === "string") {
    const shown = visibleText(value, 600);
    return type === "string" ? html`<span dir="auto">“${shown}”</span>` : html`<code dir="ltr">${shown}</code>`;
  }
  return value.length === 0 ? html`<span class="hint">${texts.emptyList}</span>` : argumentList(value, false);
}

function rawData({ data, call }: TransactionRequest) {
  if (data === null || call.kind !== "unknown") return nothing;
  return html`${call.selector === null ? nothing : html`<code>${call.selector}</code> `} ${bytes(data, call.size)}`;
}

/** The code of a new contract, with a hash by which it can be compared. */
function code({ data }: TransactionRequest, { size, hash }: Creation) {
  return html`${texts.codeSize(size)}
    <p class="hint">${texts.codeHash} <code dir="ltr">${hash}</code></p>
    ${bytes(data ?? "0x", size)}`;
}

/** The first bytes of data, which are shown on demand. */
function bytes(data: string, size: number) {
  const rest = size - SHOWN_DATA;
  return html`<details>
    <summary>${texts.showData(size)}</summary>
    <pre dir="ltr" tabindex="0">${data.slice(0, 2 + 2 * SHOWN_DATA)}</pre>
    ${rest > 0 ? html`<p class="hint">${texts.moreBytes(rest)}</p>` : nothing}
  </details>`;
}

function warnings(transaction: TransactionRequest, { fees, network }: Context) {
  const { to, call, chainId, invalid } = transaction;
  const found: string[] = invalid.map((field) => texts.invalid[field]);
  if (call.kind === "call") {
    if (call.risk !== null) found.push(texts.risks[call.risk]);
    if (call.surplus > 0) found.push(texts.surplusData(call.surplus));
  } else if (call.kind === "unknown") {
    found.push(call.selector === null ? texts.unknownData : texts.unknownFunction(call.selector));
  } else if (call.kind === "creation") {
    found.push(texts.unknownCode);
    if (call.looksLike !== null) found.push(texts.codeIsCall(visibleText(call.looksLike, 200)));
  }
  if (to?.checksum === "none") found.push(texts.noChecksum);
  if (chainId === null && !invalid.includes("chain_id")) found.push(texts.noNetwork);
  if (fees?.failure != null) found.push(texts.wouldFail(fees.failure));
  if (fees?.balance != null && isTooExpensive(transaction, fees))
    found.push(texts.tooExpensive(coins(fees.balance, network)));
  if (invalid.length > 0) found.push(texts.cannotSend);
  if (found.length === 0) return nothing;
  return html`<ul class="warnings" role="list">${found.map((text) => html`<li>${text}</li>`)}</ul>`;
}
