import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { DiscardMessageEvent } from "../../events/discard-message-event.ts";
import { RetryMessageEvent } from "../../events/retry-message-event.ts";
import type { Unsent } from "../../state/unsent.ts";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";

/**
 * The messages that the server has not acknowledged yet, each with its state.
 *
 * @fires callboard-retry-message - The person asks to send a message now.
 * @fires callboard-discard-message - The person removes a message.
 */
export class OutboxElement extends Part {
  static override properties = { items: { attribute: false } };
  declare items: readonly Unsent[];

  constructor() {
    super();
    this.items = [];
  }

  override render() {
    return html`<ol class="timeline" id="outbox" aria-label=${texts.unsentMessages}>
      ${repeat(
        this.items.filter(({ state }) => state !== "kept"),
        ({ id }) => id,
        (item) => this.#item(item),
      )}
    </ol>`;
  }

  #item({ id, text, state, problem }: Unsent) {
    const note = state === "failed" ? texts.notSent(problem) : texts.outbox[state];
    return html`<li class="user unsent" data-state=${state}>
      <span class="hidden">${texts.you}</span>
      <p class="text" dir="auto">${text}</p>
      <div class="delivery">
        <span class="sent" role="status">${note}</span>
        ${
          state === "waiting" || state === "failed"
            ? html`<button type="button" class="quiet" @click=${() => this.dispatchEvent(new RetryMessageEvent(id))}>
              ${texts.tryNow}
            </button>`
            : nothing
        }
        ${
          state === "failed"
            ? html`<button type="button" class="quiet" @click=${() => this.dispatchEvent(new DiscardMessageEvent(id))}>
              ${texts.remove}
            </button>`
            : nothing
        }
      </div>
    </li>`;
  }
}

customElements.define("callboard-outbox", OutboxElement);
