/**
 * Keeps the count of open requests right, in all tabs and on all devices: it asks the server when something changes here
 * or in another tab, every 15 seconds while the page is visible, and every minute in the background if the person wants
 * notifications.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import type { RequestsChangeEvent } from "../events/requests-change-event.ts";
import { showAppBadge } from "./badge.ts";
import { notifications } from "./notifications.ts";
import type { InboxRequest } from "./inbox-request.ts";
import { type OpenRequests, openRequests } from "./open-requests.ts";
import { whileVisible } from "./while-visible.ts";

const VISIBLE = 15_000; // milliseconds between two requests
const HIDDEN = 60_000;

export class BadgeController implements ReactiveController {
  readonly #host: ReactiveControllerHost;
  readonly #requests: OpenRequests;
  readonly #onArrival: (requests: readonly InboxRequest[]) => void;
  #stop: () => void = () => undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isStarted = false;
  #here: readonly string[] = []; // requests of the open conversation, which its stream reports first
  #shown = -1;

  constructor(
    host: ReactiveControllerHost,
    onArrival: (requests: readonly InboxRequest[]) => void,
    requests: OpenRequests = openRequests,
  ) {
    this.#host = host;
    this.#onArrival = onArrival;
    this.#requests = requests;
    host.addController(this);
  }

  get count(): number {
    return Math.max(this.#requests.requests.length, this.#here.length);
  }

  hostConnected(): void {
    this.#requests.addEventListener("callboard-requests-change", this.#onChange);
    this.#stop = whileVisible(VISIBLE, () => this.refresh());
    this.#timer = setInterval(() => {
      if (globalThis.document?.hidden && notifications.state === "on") this.refresh();
    }, HIDDEN);
  }

  hostDisconnected(): void {
    this.#requests.removeEventListener("callboard-requests-change", this.#onChange);
    this.#stop();
    clearInterval(this.#timer);
  }

  hostUpdated(): void {
    if (this.count === this.#shown) return;
    this.#shown = this.count;
    void showAppBadge(this.count);
  }

  /** Begin to count, after the sign-in. */
  start(): void {
    this.#isStarted = true;
    this.refresh();
  }

  /** Forget the requests, because the person signs out. */
  clear(): void {
    this.#isStarted = false;
    this.#here = [];
    this.#requests.clear();
  }

  /** Count again. Without a connection, the count stays as it is. */
  refresh(): void {
    if (!this.#isStarted || this.#requests.api.token.isDenied) return;
    this.#requests.refresh().catch(() => undefined);
  }

  /** Another conversation is shown, whose requests are not known yet. */
  leaveConversation(): void {
    this.#here = [];
  }

  /** Take the open requests of the conversation that is shown. They count before the server is asked for all. */
  setOpenHere(ids: readonly string[]): void {
    const closed = this.#here.filter((id) => !ids.includes(id));
    this.#here = ids;
    for (const id of closed) this.#requests.remove(id);
    this.#host.requestUpdate();
    this.refresh();
  }

  readonly #onChange = ({ arrived }: RequestsChangeEvent) => {
    this.#host.requestUpdate();
    if (arrived.length > 0) this.#onArrival(arrived);
  };
}
