/** The wallet requests of the page, each with one task, however many elements show it. */
import { browserStorage } from "../state/storage.ts";
import { type Wallet, WalletDirectory, type WalletTarget } from "./discovery.ts";
import { browserLocks, ExclusiveLock, type Locks } from "./exclusive-lock.ts";
import { SentStore } from "./sent-store.ts";
import { readTransaction } from "./transaction.ts";
import { WalletTask } from "./wallet-task.ts";

const GRACE = 2000; // milliseconds that a task is kept without an element, as when the page connects again
const SEARCH = 400; // milliseconds in which wallets usually announce themselves

interface Entry {
  readonly task: WalletTask;
  readonly listeners: Set<() => void>;
  /** The listener that sends the answer. */
  owner: (() => void) | null;
  timer: ReturnType<typeof setTimeout> | undefined;
}

export class WalletTasks {
  readonly #entries = new Map<string, Entry>();
  readonly #target: WalletTarget;
  readonly #store: SentStore;
  readonly #locks: Locks | null;
  #directory: WalletDirectory | null = null;
  /** Whether wallets may still be about to announce themselves. */
  isSearching = true;

  constructor(
    target: WalletTarget = globalThis.window,
    store = new SentStore(browserStorage("localStorage")),
    locks: Locks | null = browserLocks(),
  ) {
    this.#target = target;
    this.#store = store;
    this.#locks = locks;
    target.addEventListener("storage", (event) => this.#onStorage(event as StorageEvent));
    target.addEventListener("pagehide", () => this.#each((task) => task.suspend()));
    target.addEventListener("pageshow", () => this.#each((task) => void task.resume()));
  }

  get wallets(): readonly Wallet[] {
    return this.#directory?.wallets ?? [];
  }

  /** The task of a request. `listener` is called after every change, until it is given to `close`. */
  open(requestId: string, payload: unknown, listener: () => void): WalletTask {
    this.#search();
    const found = this.#entries.get(requestId) ?? this.#start(requestId, payload);
    clearTimeout(found.timer);
    found.listeners.add(listener);
    return found.task;
  }

  /** Stop listening. The task ends soon after its last listener left, unless its wallet asks the person. */
  close(requestId: string, listener: () => void): void {
    const entry = this.#entries.get(requestId);
    if (entry === undefined) return;
    entry.listeners.delete(listener);
    if (entry.owner === listener) entry.owner = null;
    this.#endSoon(requestId, entry);
  }

  /** Claim to send the answer of a task. Returns false if another listener does. */
  claim(requestId: string, listener: () => void): boolean {
    const entry = this.#entries.get(requestId);
    if (entry === undefined || !entry.listeners.has(listener)) return false;
    entry.owner ??= listener;
    return entry.owner === listener;
  }

  #start(requestId: string, payload: unknown): Entry {
    const task = new WalletTask(requestId, readTransaction(payload), {
      store: this.#store,
      lock: new ExclusiveLock(SentStore.keyOf(requestId), this.#locks),
      wallets: () => this.wallets,
      onChange: () => this.#notify(entry),
    });
    const entry: Entry = { task, listeners: new Set(), owner: null, timer: undefined };
    this.#entries.set(requestId, entry);
    void task.resume();
    return entry;
  }

  #endSoon(requestId: string, entry: Entry): void {
    clearTimeout(entry.timer);
    if (entry.listeners.size > 0) return;
    entry.timer = setTimeout(() => {
      if (entry.task.isAsking) return this.#endSoon(requestId, entry);
      entry.task.close();
      this.#entries.delete(requestId);
    }, GRACE);
  }

  #search(): void {
    if (this.#directory !== null) return;
    this.#directory = new WalletDirectory(this.#target, () => this.#onWallets());
    setTimeout(() => {
      this.isSearching = false;
      for (const entry of this.#entries.values()) this.#notify(entry);
    }, SEARCH);
  }

  #onWallets(): void {
    for (const entry of this.#entries.values()) {
      if (entry.task.phase.kind === "following") void entry.task.resume();
      this.#notify(entry);
    }
  }

  /** Another tab has changed a record. */
  #onStorage({ key }: StorageEvent): void {
    for (const [requestId, { task }] of this.#entries) if (key === SentStore.keyOf(requestId)) void task.resume();
  }

  #each(action: (task: WalletTask) => void): void {
    for (const { task } of this.#entries.values()) action(task);
  }

  #notify({ listeners }: Entry): void {
    for (const listener of [...listeners]) listener();
  }
}
