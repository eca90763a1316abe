import type { ReactiveController, ReactiveControllerHost } from "lit";
import { pageToken } from "../../api/token-store.ts";
import type { DeniedEvent } from "../../events/denied-event.ts";
import type { TokenEvent } from "../../events/token-event.ts";
import { forgetPerson } from "../../state/sign-out.ts";
import type { TokenDialogElement } from "../token-dialog/token-dialog.ts";

interface SignInHost extends ReactiveControllerHost {
  readonly renderRoot: ParentNode;
}

/** What the page does when the person has signed in or out, here or in another tab. */
export interface SignInListener {
  onSignIn(): void;
  onSignOut(): void;
}

/** Asks for the token of the page in one dialog, whichever view was denied, and forgets it on demand. */
export class SignInController implements ReactiveController {
  readonly #host: SignInHost;
  readonly #listener: SignInListener;
  #token = pageToken.get();

  constructor(host: SignInHost, listener: SignInListener) {
    this.#host = host;
    this.#listener = listener;
    host.addController(this);
  }

  /** Whether there is a token, so that the person can sign out. */
  get hasToken(): boolean {
    return this.#token !== "";
  }

  hostConnected(): void {
    pageToken.addEventListener("callboard-denied", this.ask);
    globalThis.addEventListener("storage", this.#onStorage); // the token of the device was changed in another tab
  }

  hostDisconnected(): void {
    pageToken.removeEventListener("callboard-denied", this.ask);
    globalThis.removeEventListener("storage", this.#onStorage);
  }

  /** Ask for a token, once for all requests that were denied. */
  readonly ask = (event: DeniedEvent): void => {
    event.preventDefault();
    const dialog = this.#dialog;
    if (dialog === null) void this.#host.updateComplete.then(() => this.ask(event));
    else if (!dialog.isOpen) void dialog.ask(event.wasRefused);
  };

  readonly signIn = ({ token, remember }: TokenEvent): void => {
    pageToken.set(token, remember);
    this.#use();
  };

  readonly signOut = (): void => {
    pageToken.forget();
    this.#use();
  };

  readonly #onStorage = (): void => {
    if (pageToken.get() === this.#token) return;
    if (pageToken.get() !== "") this.#dialog?.close();
    this.#use();
  };

  #use(): void {
    this.#token = pageToken.get();
    this.#host.requestUpdate();
    if (this.#token !== "") return this.#listener.onSignIn();
    forgetPerson(); // in each tab of the person, wherever the button was
    this.#listener.onSignOut();
  }

  get #dialog(): TokenDialogElement | null {
    return this.#host.renderRoot.querySelector("callboard-token-dialog");
  }
}
