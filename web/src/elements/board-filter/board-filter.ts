import { html, nothing, type TemplateResult } from "lit";
import { BoardFilterEvent } from "../../events/board-filter-event.ts";
import { title } from "../../format.ts";
import { type Family, KINDS, LANES } from "../../state/board-entry.ts";
import { type BoardFilter, isFiltered, NO_FILTER } from "../../state/board-filter.ts";
import { boardTexts } from "../../texts/board.ts";
import { Part } from "../part/part.ts";

const FAMILIES: readonly (Family | "")[] = ["", "chat", "system"];

/**
 * The filter of the timeline: a text, the family, the kinds, and failures only.
 *
 * @fires callboard-board-filter - The person changes the filter.
 */
export class BoardFilterElement extends Part {
  static override properties = { filter: { attribute: false } };
  declare filter: BoardFilter;

  constructor() {
    super();
    this.filter = NO_FILTER;
  }

  override render(): TemplateResult {
    const { text, family, failed } = this.filter;
    const onText = (event: Event) => this.#change({ text: (event.target as HTMLInputElement).value });
    const onFamily = (event: Event) =>
      this.#change({ family: (event.target as HTMLSelectElement).value as Family | "" });
    return html`<form class="filter" role="search" aria-label=${boardTexts.filter} @submit=${(event: Event) => event.preventDefault()}>
      <input
        type="search"
        id="board-search"
        autocomplete="off"
        aria-label=${boardTexts.search}
        placeholder=${boardTexts.search}
        .value=${text}
        @input=${onText}
      />
      <select id="board-family" aria-label=${boardTexts.family} .value=${family} @change=${onFamily}>
        ${FAMILIES.map((each) => html`<option value=${each} ?selected=${each === family}>${boardTexts.families[each]}</option>`)}
      </select>
      ${this.#kinds()}
      <button type="button" class="toggle" id="board-failed" aria-pressed=${failed} @click=${() => this.#change({ failed: !failed })}>
        ${boardTexts.failedOnly}
      </button>
      ${
        isFiltered(this.filter)
          ? html`<button type="button" class="quiet" id="board-clear" @click=${() => this.#change(NO_FILTER)}>${boardTexts.clear}</button>`
          : nothing
      }
    </form>`;
  }

  #kinds() {
    const { kinds } = this.filter;
    const toggle = (kind: string, isOn: boolean) =>
      this.#change({ kinds: isOn ? [...kinds, kind] : kinds.filter((each) => each !== kind) });
    return html`<details class="kinds" @keydown=${this.#onKey} @focusout=${this.#onLeave}>
      <summary class="toggle" aria-pressed=${kinds.length > 0}>
        ${kinds.length > 0 ? boardTexts.kindsChosen(kinds.length) : boardTexts.kinds}
      </summary>
      <div class="choices">
        ${LANES.map(
          (lane) =>
            html`<fieldset>
              <legend>${boardTexts.lanes[lane]}</legend>
              ${KINDS[lane].map(
                (kind) =>
                  html`<label
                    ><input
                      type="checkbox"
                      name=${kind}
                      .checked=${kinds.includes(kind)}
                      @change=${(event: Event) => toggle(kind, (event.target as HTMLInputElement).checked)}
                    />${boardTexts.event(kind) || title(kind)}</label
                  >`,
              )}
            </fieldset>`,
        )}
      </div>
    </details>`;
  }

  #change(part: Partial<BoardFilter>): void {
    this.dispatchEvent(new BoardFilterEvent({ ...this.filter, ...part }));
  }

  readonly #onKey = (event: KeyboardEvent) => {
    const details = event.currentTarget as HTMLDetailsElement;
    if (event.key !== "Escape" || !details.open) return;
    event.stopPropagation();
    details.open = false;
    details.querySelector("summary")?.focus();
  };

  readonly #onLeave = (event: FocusEvent) => {
    const details = event.currentTarget as HTMLDetailsElement;
    if (event.relatedTarget instanceof Node && !details.contains(event.relatedTarget)) details.open = false;
  };
}

customElements.define("callboard-board-filter", BoardFilterElement);
