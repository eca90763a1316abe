import { html } from "lit";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";

/** The list of keyboard shortcuts, as a dialog. */
export class ShortcutsElement extends Part {
  open(): void {
    const dialog = this.querySelector("dialog");
    if (dialog && !dialog.open) dialog.showModal();
  }

  override render() {
    return html`<dialog id="shortcuts" aria-labelledby="shortcuts-title">
      <form method="dialog">
        <h2 id="shortcuts-title">${texts.shortcuts}</h2>
        <dl>${texts.shortcutList.map(([keys, meaning]) => html`<dt><kbd>${keys}</kbd></dt><dd>${meaning}</dd>`)}</dl>
        <button class="send">${texts.close}</button>
      </form>
    </dialog>`;
  }
}

customElements.define("callboard-shortcuts", ShortcutsElement);
