import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { explain } from "../../api/problem.ts";
import { groupsOf, type Operation, type OperationGroup, searchGroups } from "../../state/openapi.ts";
import { apiTexts as texts } from "../../texts/api-explorer.ts";
import "../api-operation/api-operation.ts";
import type { ApiOperationElement } from "../api-operation/api-operation.ts";
import { ViewElement } from "../view/view.ts";
import { apiExplorerStyles } from "./styles.ts";

/** The operations of the server's API: described by `/openapi.json`, each with an address and a form to try it. */
export class ApiExplorerViewElement extends ViewElement {
  static override styles = apiExplorerStyles;
  static override properties = {
    ...ViewElement.properties,
    groups: { state: true },
    search: { state: true },
    problem: { state: true },
  };
  /** The operations by group. Null until they are loaded. */
  declare groups: readonly OperationGroup[] | null;
  declare search: string;
  declare problem: string;

  constructor() {
    super();
    this.groups = null;
    this.search = "";
    this.problem = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#load();
  }

  override render(): TemplateResult {
    const controls = html`<a class="document" href="/openapi.json" target="_blank" rel="noopener">
      ${texts.document}
    </a>`;
    return html`${this.header(texts.title, controls)}
      <main data-chosen=${this.route.operation !== ""}>
        ${this.#list()}
        <div class="content">${this.#content()}</div>
      </main>`;
  }

  override updated(changed: PropertyValues<this>): void {
    const before = changed.get("route");
    if (before === undefined || before.operation === this.route.operation || this.route.operation === "") return;
    void this.#focusTitle();
  }

  /** Let screen readers read the operation that the person chose. */
  async #focusTitle(): Promise<void> {
    const element = this.renderRoot.querySelector<ApiOperationElement>("callboard-api-operation");
    await element?.updateComplete;
    this.renderRoot.querySelector(".content")?.scrollTo({ top: 0 });
    element?.querySelector<HTMLElement>("#operation")?.focus({ preventScroll: true });
  }

  #list() {
    const found = searchGroups(this.groups ?? [], this.search);
    const isEmpty = this.groups !== null && found.length === 0;
    return html`<nav aria-label=${texts.operations}>
      <input
        type="search"
        id="search-operations"
        aria-label=${texts.search}
        placeholder=${texts.search}
        .value=${this.search}
        @input=${(event: Event) => (this.search = (event.target as HTMLInputElement).value)}
      />
      ${isEmpty ? html`<p class="hint" role="status">${texts.noneFound}</p>` : nothing}
      ${found.map(
        ({ name, operations }) => html`<section>
          <h2>${name}</h2>
          <ul>${operations.map((each) => this.#entry(each))}</ul>
        </section>`,
      )}
    </nav>`;
  }

  #entry({ id, method, path, summary }: Operation) {
    const isCurrent = id === this.route.operation;
    const content = html`<span class="method" data-method=${method}>${method}</span>
      <span class="name" dir="auto"><span>${summary}</span><code dir="ltr">${path}</code></span>`;
    return html`<li data-operation=${id} aria-current=${isCurrent ? "true" : nothing}>
      ${this.link({ view: "api", operation: id }, content)}
    </li>`;
  }

  #content() {
    if (this.problem !== "") {
      return html`<p class="notice error" role="alert">${texts.notLoaded(this.problem)}</p>
        <button type="button" @click=${() => void this.#load()}>${texts.tryAgain}</button>`;
    }
    if (this.groups === null) return html`<p class="hint">${texts.loading}</p>`;
    const { operation: id } = this.route;
    if (id === "") return html`<p class="hint">${texts.choose}</p>`;
    const back = this.link({ view: "api" }, `← ${texts.allOperations}`, "back");
    const found = this.groups.flatMap(({ operations }) => operations).find((each) => each.id === id);
    if (found === undefined) return html`${back}<p class="hint">${texts.unknown(id)}</p>`;
    return html`${back}${keyed(id, html`<callboard-api-operation .operation=${found}></callboard-api-operation>`)}`;
  }

  async #load(): Promise<void> {
    this.problem = "";
    try {
      this.groups = groupsOf(await this.api.get<unknown>("/openapi.json"), texts.others);
    } catch (error) {
      this.problem = explain(error);
    }
  }
}

customElements.define("callboard-api-explorer-view", ApiExplorerViewElement);
