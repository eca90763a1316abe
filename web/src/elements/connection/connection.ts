import { html, nothing } from "lit";
import { ReconnectEvent } from "../../events/reconnect-event.ts";
import { calm, type CalmConnection } from "../../state/calm-connection.ts";
import type { Connection } from "../../state/session-listener.ts";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";

const LONG = 1_500; // milliseconds of a delay that is worth a word

/**
 * The state of the connection to the server. A cut of less than two seconds is not shown.
 *
 * @fires callboard-reconnect - The person asks to connect now.
 */
export class ConnectionElement extends Part {
  static override properties = { connection: { attribute: false } };
  declare connection: Connection;
  #calm: CalmConnection;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.connection = { state: "connecting", delay: 0, silence: 0 };
    this.#calm = { shown: this.connection, since: null };
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  override willUpdate(): void {
    const { next, wait } = calm(this.#calm, this.connection, performance.now());
    this.#calm = next;
    clearTimeout(this.#timer);
    if (wait !== null) this.#timer = setTimeout(() => this.requestUpdate(), wait);
  }

  override render() {
    const { state, delay } = this.#calm.shown;
    const isConnected = state === "connected";
    return html`<p class="connection" id="connection" data-state=${this.connection.state} data-shown=${state}>
      <span class="indicator" aria-hidden="true" title=${texts.connection[state]}></span>
      <span id="connection-text" class=${isConnected ? "hidden" : ""} role="status"
        >${delay > LONG ? texts.connectionLost : texts.connection[state]}</span
      >
      ${
        state === "waiting"
          ? html`<button type="button" class="quiet" id="reconnect" @click=${() => this.dispatchEvent(new ReconnectEvent())}>
            ${texts.tryNow}
          </button>`
          : nothing
      }
    </p>`;
  }
}

customElements.define("callboard-connection", ConnectionElement);
