import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { FollowEvent } from "../../events/follow-event.ts";
import { SelectEventEvent } from "../../events/select-event-event.ts";
import { title } from "../../format.ts";
import type { Entry } from "../../state/board-entry.ts";
import type { FilteredEntries } from "../../state/board-filter.ts";
import { sinceStart, tickLabel } from "../../state/time-scale.ts";
import { boardTexts } from "../../texts/board.ts";
import { Part } from "../part/part.ts";

const ROW = 32; // pixels
const TALL_ROW = 56; // pixels of a row with two lines, on a narrow screen
const NARROW = 600;
const OVERSCAN = 8; // rows above and below the visible ones

/**
 * The events as a list. Only the rows in view are elements, however many events there are.
 *
 * It keeps its place while events are added at either end: the end if it follows, or else the first row in view.
 *
 * @fires callboard-select-event - The person moves to an event, or opens it.
 * @fires callboard-follow - The person scrolls away from the end.
 */
export class BoardListElement extends Part {
  static override properties = {
    shown: { attribute: false },
    version: { attribute: false },
    start: { attribute: false },
    active: { attribute: false },
    follows: { attribute: false },
  };
  declare shown: FilteredEntries;
  /** Changes with the events. */
  declare version: number;
  /** The time of the first event. */
  declare start: number;
  /** The number of the event that the keyboard is at. 0 for none. */
  declare active: number;
  declare follows: boolean;
  /** The first row in view, which stays there: the number of its event, and how far it is scrolled. */
  anchor = { seq: 0, offset: 0 };
  #scrolled = 0; // the scroll position, as far as this element knows
  // measured when they change, because measuring in each frame would lay out the page twice
  #row = ROW;
  #height = 0;
  readonly #resizes = new ResizeObserver(([entry]) => {
    const { width, height } = entry?.contentRect ?? { width: 0, height: 0 };
    this.#row = width < NARROW ? TALL_ROW : ROW;
    this.#height = height;
    this.requestUpdate();
  });

  constructor() {
    super();
    this.version = this.start = this.active = 0;
    this.follows = true;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#resizes.disconnect();
  }

  override firstUpdated(): void {
    this.#resizes.observe(this);
  }

  override render(): TemplateResult {
    const row = this.#row;
    const count = this.shown.entries.length;
    const top = this.#top;
    const first = Math.max(0, Math.floor(top / row) - OVERSCAN);
    const last = Math.min(count, Math.ceil((top + this.#height) / row) + OVERSCAN);
    const entries = Array.from(
      { length: Math.max(0, last - first) },
      (_, index) => this.shown.entries.at(first + index) as Entry,
    );
    const isActive = entries.some(({ seq }) => seq === this.active);
    return html`<div
      id="events"
      role="listbox"
      tabindex="0"
      aria-label=${boardTexts.list}
      aria-activedescendant=${isActive ? `event-${this.active}` : nothing}
      @scroll=${this.#onScroll}
      @keydown=${this.#onKey}
      @click=${this.#onClick}
    >
      <div class="space" role="presentation">
        <div class="rows" role="presentation">
          ${repeat(
            entries,
            ({ seq }) => seq,
            (entry, index) => this.#option(entry, first + index, count),
          )}
        </div>
      </div>
    </div>`;
  }

  override updated(changed: PropertyValues<this>): void {
    const scroller = this.#scroller;
    if (scroller === null || this.#height === 0) return; // not measured yet
    const row = this.#row;
    const space = scroller.querySelector<HTMLElement>(".space");
    const rows = scroller.querySelector<HTMLElement>(".rows");
    if (space === null || rows === null) return;
    const height = `${this.shown.entries.length * row}px`;
    if (space.style.height !== height) space.style.height = height;
    if (this.follows) this.#anchorAt(this.#top);
    else if (changed.has("active") && this.active !== 0) this.#reveal(this.shown.position(this.active));
    const top = this.#top;
    rows.style.transform = `translateY(${Math.max(0, Math.floor(top / row) - OVERSCAN) * row}px)`;
    if (Math.abs(this.#scrolled - top) < 1) return;
    scroller.scrollTop = top;
    this.#scrolled = top;
  }

  /** Scroll so that a row is in view. */
  #reveal(position: number): void {
    const [row, height, top] = [this.#row, this.#height, this.#top];
    if (position * row < top) this.#anchorAt(position * row);
    else if ((position + 1) * row > top + height) this.#anchorAt((position + 1) * row - height);
    else return;
    this.requestUpdate();
  }

  /** The scroll position that belongs to the anchor, or to the end. */
  get #top(): number {
    const end = Math.max(0, this.shown.entries.length * this.#row - this.#height);
    if (this.follows) return end;
    return Math.min(end, this.shown.position(this.anchor.seq) * this.#row + this.anchor.offset);
  }

  #anchorAt(top: number): void {
    const row = this.#row;
    const position = Math.max(0, Math.floor(top / row));
    this.anchor = { seq: this.shown.entries.at(position)?.seq ?? 0, offset: Math.max(0, top - position * row) };
  }

  #option(entry: Entry, position: number, count: number) {
    const { seq, at, kind, lane, tool, failed, text } = entry;
    return html`<div
      id="event-${seq}"
      class="row ${lane}"
      role="option"
      data-seq=${seq}
      data-failed=${failed || nothing}
      aria-selected=${seq === this.active}
      aria-posinset=${position + 1}
      aria-setsize=${count}
    >
      <time>${tickLabel(at, 1)}</time>
      <span class="since">${sinceStart(at - this.start)}</span>
      <span class="kind">${boardTexts.event(kind) || title(kind)}</span>
      <span class="tool" dir="auto">${tool}</span>
      <span class="text" dir="auto">${text}</span>
    </div>`;
  }

  get #scroller(): HTMLElement | null {
    return this.querySelector("#events");
  }

  readonly #onScroll = (event: Event) => {
    const top = (event.currentTarget as HTMLElement).scrollTop;
    if (Math.abs(top - this.#scrolled) < 1) return; // this element set it
    this.#scrolled = top;
    const isAtEnd = top + this.#height >= this.shown.entries.length * this.#row - 2;
    this.#anchorAt(top);
    if (this.follows && !isAtEnd) this.dispatchEvent(new FollowEvent(false));
    this.requestUpdate();
  };

  readonly #onClick = (event: Event) => {
    const row = (event.target as Element).closest<HTMLElement>("[data-seq]");
    if (row !== null) this.dispatchEvent(new SelectEventEvent(Number(row.dataset["seq"]), true));
  };

  readonly #onKey = (event: KeyboardEvent) => {
    const count = this.shown.entries.length;
    if (count === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.#height / this.#row) - 1);
    const now = this.active === 0 ? (this.follows ? count : -1) : this.shown.position(this.active);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: now + 1,
      ArrowUp: now - 1,
      PageDown: now + page,
      PageUp: now - page,
      Home: 0,
      End: count - 1,
    };
    const to = event.key === "Enter" || event.key === " " ? now : moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const entry = this.shown.entries.at(Math.max(0, Math.min(count - 1, to)));
    const opens = event.key === "Enter" || event.key === " ";
    if (entry !== undefined) this.dispatchEvent(new SelectEventEvent(entry.seq, opens));
  };
}

customElements.define("callboard-board-list", BoardListElement);
