import { html } from "lit";
import { clock } from "../../format.ts";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";

/** The time that is left until a moment. It counts down in seconds. */
export class CountdownElement extends Part {
  static override properties = { until: {} };
  /** The moment, in ISO 8601. */
  declare until: string;
  #timer: ReturnType<typeof setInterval> | undefined;

  override connectedCallback(): void {
    super.connectedCallback();
    this.#timer = setInterval(() => this.requestUpdate(), 1000);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#timer);
  }

  override render() {
    const left = (Date.parse(this.until) - Date.now()) / 1000;
    return html`<p class="hint countdown" role="timer">${left > 0 ? texts.expiresIn(clock(left)) : texts.expired}</p>`;
  }
}

customElements.define("callboard-countdown", CountdownElement);
