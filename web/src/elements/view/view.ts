import { html, LitElement, type TemplateResult } from "lit";
import { ApiClient } from "../../api/api-client.ts";
import { NavigateEvent } from "../../events/navigate-event.ts";
import { route, routeQuery, type Route } from "../../state/route.ts";

/**
 * A view of the page beside the chat. It is loaded on demand, and knows from its route what it shows.
 *
 * @slot start - Controls at the start of the header.
 * @fires callboard-navigate - The person goes to another view.
 */
export abstract class ViewElement extends LitElement {
  static override properties = { route: { attribute: false } };
  declare route: Route;
  protected readonly api = new ApiClient();

  constructor() {
    super();
    this.route = route();
  }

  /** Focus the heading, after the person went to this view. */
  override focus(): void {
    this.renderRoot.querySelector<HTMLElement>("h1")?.focus();
  }

  /** Focus the content, behind the header. */
  skipToContent(): void {
    const main = this.renderRoot.querySelector<HTMLElement>("main");
    if (main === null) return this.focus();
    main.tabIndex = -1;
    main.focus();
  }

  protected header(title: unknown, controls: unknown = ""): TemplateResult {
    return html`<header class="top">
      <slot name="start"></slot>
      <h1 tabindex="-1">${title}</h1>
      ${controls}
    </header>`;
  }

  /** A link to another view, which the page follows without loading itself again. */
  protected link(to: Partial<Route>, content: unknown, className = ""): TemplateResult {
    return html`<a class=${className} href=${routeQuery(to)} @click=${(event: MouseEvent) => this.follow(event, to)}>${content}</a>`;
  }

  protected follow(event: MouseEvent, to: Partial<Route>): void {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab or window
    event.preventDefault();
    this.dispatchEvent(new NavigateEvent(to));
  }
}
