import { html } from "lit";
import { SendEvent } from "../../events/send-event.ts";
import { SUGGESTIONS, texts } from "../../texts.ts";
import { Part } from "../part/part.ts";

/**
 * The content of a conversation without messages.
 *
 * @fires callboard-send - The person chose a suggestion.
 */
export class WelcomeElement extends Part {
  static override properties = { tools: { attribute: false } };
  /** The tools of the conversation: a suggestion needs its tool. */
  declare tools: ReadonlyMap<string, unknown>;

  constructor() {
    super();
    this.tools = new Map();
  }

  override render() {
    return html`<section class="welcome" id="welcome">
      <h2>${texts.welcomeTitle}</h2>
      <p>${texts.welcomeText}</p>
      <ul id="suggestions">
        ${SUGGESTIONS.filter(([tool]) => this.tools.has(tool)).map(
          ([, text]) => html`<li>
            <button type="button" class="try" @click=${() => this.dispatchEvent(new SendEvent(text))}>${text}</button>
          </li>`,
        )}
      </ul>
    </section>`;
  }
}

customElements.define("callboard-welcome", WelcomeElement);
