import { html } from "lit";
import { CopyLinkEvent } from "../../events/copy-link-event.ts";
import { parseRoute, routeQuery } from "../../state/route.ts";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";

/**
 * The link to a call. A click copies its address.
 *
 * @fires callboard-copy-link - The person asks for the address.
 */
export class CopyLinkElement extends Part {
  static override properties = { executionId: { attribute: false }, isCopied: { state: true } };
  declare executionId: string;
  declare isCopied: boolean;

  constructor() {
    super();
    this.isCopied = false;
  }

  override render() {
    const { session } = parseRoute(globalThis.location.search);
    return html`<a
      class="copy-link"
      href=${routeQuery({ session, call: this.executionId })}
      title=${texts.copyLink}
      @click=${this.#copy}
      ><span class="hidden">${texts.copyLink}</span
      ><span aria-hidden="true">${this.isCopied ? texts.copied : texts.link}</span></a
    >`;
  }

  readonly #copy = async (pressed: MouseEvent) => {
    if (pressed.metaKey || pressed.ctrlKey || pressed.shiftKey) return; // a new tab or window
    pressed.preventDefault();
    const event = new CopyLinkEvent(this.executionId);
    this.dispatchEvent(event);
    this.isCopied = await event.copied;
  };
}

customElements.define("callboard-copy-link", CopyLinkElement);
