import { html, nothing } from "lit";
import type { Connection } from "../../state/session-controller.ts";
import { ReconnectEvent } from "../../events/reconnect-event.ts";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";

const LONG = 1_500; // milliseconds of a delay that is worth a word

/**
 * The state of the connection to the server.
 *
 * @fires callboard-reconnect - The person asks to connect now.
 */
export class ConnectionElement extends Part {
  static override properties = { connection: { attribute: false } };
  declare connection: Connection;

  constructor() {
    super();
    this.connection = { state: "connecting", delay: 0 };
  }

  override render() {
    const { state, delay } = this.connection;
    return html`<p class="connection" id="connection" data-state=${state}>
      <span class="indicator" aria-hidden="true"></span>
      <span id="connection-text" role="status">${delay > LONG ? texts.connectionLost : texts.connection[state]}</span>
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
