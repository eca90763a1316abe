/** The wallets of the browser: those that announce themselves (EIP-6963), or the one in `window.ethereum`. */
import { isFields } from "../api/wire.ts";
import type { Provider } from "./provider.ts";
import { visibleText } from "../visible-text.ts";

export interface Wallet {
  /** An id that lasts as long as the page. */
  readonly id: string;
  /** An id that stays the same after a reload, such as `io.metamask`. */
  readonly rdns: string;
  /** Its name, or an empty text if it has none. */
  readonly name: string;
  /** Its icon as a data URL of an image, or null. */
  readonly icon: string | null;
  readonly provider: Provider;
}

/** The part of `window` that wallets use. */
export interface WalletTarget extends EventTarget {
  readonly ethereum?: unknown;
}

const ANNOUNCE = "eip6963:announceProvider";
const REQUEST = "eip6963:requestProvider";
const ICON = /^data:image\/(?:png|svg\+xml|webp|jpeg|gif|avif)[;,]/i;
const MAX_ICON = 256 * 1024; // characters
const MAX_WALLETS = 20;
const FALLBACK = "window.ethereum";

/** Wallets as they are found. It listens from its creation until `close`. */
export class WalletDirectory {
  readonly #target: WalletTarget;
  readonly #onChange: () => void;
  readonly #announced = new Map<string, Wallet>();

  constructor(target: WalletTarget, onChange: () => void) {
    this.#target = target;
    this.#onChange = onChange;
    target.addEventListener(ANNOUNCE, this.#onAnnounce);
    target.dispatchEvent(new Event(REQUEST));
  }

  /** The wallets in the order of their announcement. */
  get wallets(): readonly Wallet[] {
    if (this.#announced.size > 0) return [...this.#announced.values()];
    const provider = providerOf(this.#target.ethereum);
    return provider === null ? [] : [{ id: FALLBACK, rdns: FALLBACK, name: "", icon: null, provider }];
  }

  close(): void {
    this.#target.removeEventListener(ANNOUNCE, this.#onAnnounce);
  }

  readonly #onAnnounce = (event: Event) => {
    const wallet = readAnnouncement((event as CustomEvent<unknown>).detail);
    if (wallet === null || (this.#announced.size >= MAX_WALLETS && !this.#announced.has(wallet.id))) return;
    const before = this.#announced.get(wallet.id);
    if (before?.provider === wallet.provider && before.name === wallet.name) return;
    if (before !== undefined && before.provider !== wallet.provider) return; // an id belongs to its first wallet
    this.#announced.set(wallet.id, wallet);
    this.#onChange();
  };
}

/** Read the announcement of a wallet. Null if it is not one. */
export function readAnnouncement(detail: unknown): Wallet | null {
  const announced = isFields(detail) ? detail : {};
  const info = isFields(announced["info"]) ? announced["info"] : {};
  const provider = providerOf(announced["provider"]);
  const { uuid, rdns, name, icon } = info;
  if (provider === null || typeof uuid !== "string" || uuid === "" || typeof name !== "string") return null;
  return {
    id: uuid.slice(0, 200),
    rdns: typeof rdns === "string" ? rdns.slice(0, 200) : uuid.slice(0, 200),
    name: visibleText(name.trim(), 40),
    icon: typeof icon === "string" && icon.length <= MAX_ICON && ICON.test(icon) ? icon : null,
    provider,
  };
}

function providerOf(given: unknown): Provider | null {
  const isProvider = typeof given === "object" && given !== null && typeof (given as Provider).request === "function";
  return isProvider ? (given as Provider) : null;
}
