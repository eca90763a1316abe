import { LitElement } from "lit";

/**
 * A part of the chat, which renders into the shadow root of `<callboard-chat>` and not into one of its own.
 *
 * So a selection can span messages, labels and descriptions can refer to elements of other parts, and all cards share
 * one set of style sheets. Each part still has its own folder, its own events, and properties as its only input.
 */
export abstract class Part extends LitElement {
  protected override createRenderRoot(): this {
    return this;
  }

  /** The element with the focus, if it is inside of this part. */
  protected get focused(): HTMLElement | null {
    const { activeElement } = this.getRootNode() as Document | ShadowRoot;
    return activeElement instanceof HTMLElement && this.contains(activeElement) ? activeElement : null;
  }
}
