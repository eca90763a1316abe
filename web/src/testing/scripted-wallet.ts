/** A wallet whose responses a test scripts. */
import type { Wallet } from "../wallet/discovery.ts";
import type { Provider } from "../wallet/provider.ts";

export type Respond = (params: readonly unknown[]) => unknown;

/** An error of a wallet, with the code of EIP-1193. */
export function codedError(code: number, message = "refused"): Error {
  return Object.assign(new Error(message), { code });
}

export class ScriptedWallet implements Provider {
  /** The calls in their order: method and parameters. */
  readonly calls: [method: string, params: readonly unknown[]][] = [];
  readonly #responses: Record<string, Respond>;
  readonly #listeners = new Map<string, Set<(given: unknown) => void>>();

  constructor(responses: Record<string, Respond>) {
    this.#responses = responses;
  }

  async request({ method, params = [] }: { method: string; params?: readonly unknown[] }): Promise<unknown> {
    this.calls.push([method, params]);
    const respond = this.#responses[method];
    if (respond === undefined) throw codedError(4200, `${method} is not supported`);
    return respond(params);
  }

  on(event: string, listener: (given: unknown) => void): void {
    this.#listeners.set(event, (this.#listeners.get(event) ?? new Set()).add(listener));
  }

  removeListener(event: string, listener: (given: unknown) => void): void {
    this.#listeners.get(event)?.delete(listener);
  }

  /** Replace the response to a method. */
  script(method: string, respond: Respond): void {
    this.#responses[method] = respond;
  }

  emit(event: string, given: unknown): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(given);
  }

  count(method: string): number {
    return this.calls.filter(([called]) => called === method).length;
  }
}

export function announced(provider: Provider, name = "Test Wallet", rdns = "org.example.wallet"): Wallet {
  return { id: `${rdns} 1`, rdns, name, icon: null, provider };
}
