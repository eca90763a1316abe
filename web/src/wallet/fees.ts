/** The estimated cost of a transaction, from the wallet's network. */
import { balanceOf, estimateGas, gasPriceOf, type Provider, WalletError } from "./provider.ts";
import type { TransactionRequest } from "./transaction.ts";

export interface Fees {
  /** Gas that it will use, as the network estimates, or null if that is not known. */
  readonly gas: bigint | null;
  /** Wei per gas at present, or null if that is not known. */
  readonly price: bigint | null;
  /** Wei of the account, or null if that is not known. */
  readonly balance: bigint | null;
  /** Why the transaction would fail now, or null. */
  readonly failure: string | null;
}

/** Estimate the fees. What cannot be estimated is null: it never rejects. */
export async function estimateFees(provider: Provider, parameters: Readonly<Record<string, string>>): Promise<Fees> {
  const { gas: _, ...unlimited } = parameters;
  const [gas, price, balance] = await Promise.allSettled([
    estimateGas(provider, unlimited),
    gasPriceOf(provider),
    balanceOf(provider, parameters["from"] ?? ""),
  ]);
  const known = <T>(result: PromiseSettledResult<T>) => (result.status === "fulfilled" ? result.value : null);
  return { gas: known(gas), price: known(price), balance: known(balance), failure: failureOf(gas) };
}

/** The fee in wei for the estimated gas, or null if it is not known. */
export const feeOf = ({ gas, price }: Pick<Fees, "gas" | "price">): bigint | null =>
  gas === null || price === null ? null : gas * price;

/** Whether the account cannot pay the value and the estimated fee. */
export function isTooExpensive({ value }: Pick<TransactionRequest, "value">, fees: Fees): boolean {
  return fees.balance !== null && fees.balance < (value ?? 0n) + (feeOf(fees) ?? 0n);
}

/** The reason if the network refused to estimate because the transaction reverts. */
function failureOf(gas: PromiseSettledResult<bigint>): string | null {
  if (gas.status === "fulfilled") return null;
  const { message, kind } = WalletError.of(gas.reason);
  return kind !== "unsupported" && /revert|insufficient funds|exceeds|invalid opcode|init ?code/i.test(message)
    ? message
    : null;
}
