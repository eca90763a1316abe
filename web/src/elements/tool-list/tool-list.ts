import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { NavigateEvent } from "../../events/navigate-event.ts";
import {
  byNamespace,
  type CatalogueTool,
  type Facet,
  FACETS,
  type FacetValues,
  facetsOf,
  type Filters,
  filterTools,
  isFiltered,
  NO_FILTERS,
} from "../../state/catalogue.ts";
import { routeQuery } from "../../state/route.ts";
import { catalogueTexts as texts } from "../../texts/catalogue.ts";
import { Part } from "../part/part.ts";

const STEP = 300; // tools that are shown at once
const MAX_ABOUT = 160; // characters of a description in the list

/**
 * The list of tools with its search and its filters. One tool of the list is in the order of the Tab key; the arrow
 * keys move to the others.
 *
 * @fires callboard-navigate - The person opens a tool.
 */
export class ToolListElement extends Part {
  static override properties = {
    tools: { attribute: false },
    current: { attribute: false },
    filters: { state: true },
    limit: { state: true },
  };
  declare tools: readonly CatalogueTool[];
  /** The id of the tool that is open. Empty for none. */
  declare current: string;
  declare filters: Filters;
  declare limit: number;
  #facets: FacetValues = facetsOf([]);
  #found: readonly CatalogueTool[] = [];

  constructor() {
    super();
    this.tools = [];
    this.current = "";
    this.filters = NO_FILTERS;
    this.limit = STEP;
  }

  /** Focus the search. */
  override focus(): void {
    this.querySelector<HTMLInputElement>("#tool-search")?.focus();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("tools")) this.#facets = facetsOf(this.tools);
    if (changed.has("tools") || changed.has("filters")) this.#found = filterTools(this.tools, this.filters);
  }

  override render(): TemplateResult {
    const shown = this.#found.slice(0, this.limit);
    const rest = this.#found.length - shown.length;
    return html`<search class="tool-filters">
        <input
          type="search"
          id="tool-search"
          aria-label=${texts.search}
          placeholder=${texts.search}
          .value=${this.filters.text}
          @input=${(event: Event) => this.#filter("text", (event.target as HTMLInputElement).value)}
          @keydown=${this.#onSearchKey}
        />
        ${this.#facetControls()}
        <p class="counted" role="status">${texts.counted(this.#found.length, this.tools.length)}</p>
      </search>
      <nav class="tool-list" aria-label=${texts.list} @keydown=${this.#onKey}>
        ${this.filters.text === "" ? byNamespace(shown).map((group) => this.#group(...group)) : this.#rows(shown)}
        ${this.#found.length > 0 ? nothing : html`<p class="hint">${this.#nothingFound}</p>`}
        ${rest > 0 ? this.#more(rest) : nothing}
      </nav>`;
  }

  #facetControls() {
    const offered = FACETS.filter((facet) => this.#facets[facet].length > 0);
    if (offered.length === 0) return nothing;
    const count = FACETS.filter((facet) => this.filters[facet] !== "").length;
    return html`<details class="facets">
      <summary>${texts.filters(count)}</summary>
      <div class="facet-fields">${offered.map((facet) => this.#facet(facet))}</div>
      ${
        isFiltered(this.filters)
          ? html`<button type="button" class="quiet" @click=${this.#clear}>${texts.clear}</button>`
          : nothing
      }
    </details>`;
  }

  #facet(facet: Facet) {
    const label = (value: string) => (facet === "mode" ? (texts.mode[value] ?? value) : value);
    const current = this.filters[facet];
    return html`<label>
      ${texts.facets[facet]}
      <select
        data-facet=${facet}
        @change=${(event: Event) => this.#filter(facet, (event.target as HTMLSelectElement).value)}
      >
        <option value="" ?selected=${current === ""}>${texts.any}</option>
        ${this.#facets[facet].map(
          ([value, count]) =>
            html`<option value=${value} ?selected=${value === current}>${label(value)} (${count})</option>`,
        )}
      </select>
    </label>`;
  }

  #group(namespace: string, tools: readonly CatalogueTool[]) {
    return html`<h2 dir="auto">${namespace}</h2>
      ${this.#rows(tools)}`;
  }

  #rows(tools: readonly CatalogueTool[]) {
    return html`<ul>
      ${repeat(
        tools,
        ({ id }) => id,
        (tool) => this.#row(tool),
      )}
    </ul>`;
  }

  #row(tool: CatalogueTool) {
    const { id, name, description, mode, gate } = tool;
    const isCurrent = id === this.current;
    const isTabStop = isCurrent || (!this.#hasCurrent && tool === this.#found[0]);
    const to = { view: "tools", tool: id } as const;
    return html`<li>
      <a
        href=${routeQuery(to)}
        tabindex=${isTabStop ? 0 : -1}
        aria-current=${isCurrent ? "page" : nothing}
        @click=${(event: MouseEvent) => this.#open(event, tool)}
      >
        <span class="tool-name">${name}</span>
        ${mode === "inline" ? nothing : html`<span class="chip" data-mode=${mode}>${texts.mode[mode] ?? mode}</span>`}
        ${gate === "" ? nothing : html`<span class="chip">${gate}</span>`}
        <span class="tool-about" dir="auto">${description.slice(0, MAX_ABOUT)}</span>
      </a>
    </li>`;
  }

  #more(rest: number) {
    const count = Math.min(rest, STEP);
    return html`<button type="button" class="quiet" @click=${() => (this.limit += STEP)}>
      ${texts.moreTools(count)}
    </button>`;
  }

  get #nothingFound(): string {
    return this.tools.length === 0 ? texts.noTools : texts.noMatch;
  }

  get #hasCurrent(): boolean {
    return this.#found.slice(0, this.limit).some(({ id }) => id === this.current);
  }

  #filter(name: keyof Filters, value: string): void {
    this.filters = { ...this.filters, [name]: value };
    this.limit = STEP;
  }

  readonly #clear = () => {
    this.filters = NO_FILTERS;
    this.focus();
  };

  #open(event: MouseEvent, { id }: CatalogueTool): void {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab or window
    event.preventDefault();
    this.dispatchEvent(new NavigateEvent({ view: "tools", tool: id }));
  }

  readonly #onSearchKey = (event: KeyboardEvent) => {
    const [first] = this.#links;
    if (event.key === "ArrowDown") first?.focus();
    else if (event.key === "Enter") first?.click();
    else if (event.key === "Escape" && this.filters.text !== "") this.#filter("text", "");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  readonly #onKey = (event: KeyboardEvent) => {
    const links = this.#links;
    const at = links.findIndex((link) => link === this.focused);
    if (at < 0) return;
    const targets: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    if (target < 0) this.focus();
    else links[Math.min(target, links.length - 1)]?.focus();
  };

  get #links(): HTMLAnchorElement[] {
    return [...this.querySelectorAll<HTMLAnchorElement>(".tool-list a")];
  }
}

customElements.define("callboard-tool-list", ToolListElement);
