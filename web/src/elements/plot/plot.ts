import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import type uPlot from "uplot";
import {
  drawnSeries,
  isEmptyPlot,
  type PlotColor,
  type PlotKind,
  type PlotSeries,
  isolated,
  rangeFromZero,
  timeLabels,
  timeRange,
} from "../../state/plot-data.ts";
import { plotTexts } from "../../texts/plot.ts";
import { plotElementStyles } from "./styles.ts";

export type { PlotColor, PlotKind, PlotSeries } from "../../state/plot-data.ts";

type Uplot = typeof uPlot;

const HEIGHT = 160;
const MAX_ROWS = 500; // newest rows of the table
const WHOLE_STEPS = [...Array(12).keys()].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
const FONT = "12px system-ui, sans-serif";

/** The points of a line without neighbours, which no line shows. */
const isolatedPoints = ({ data }: uPlot, at: number) => isolated((data[at] ?? []) as (number | null)[]);

/**
 * Series of values over time: drawn by uPlot, which is loaded on demand, or as a table.
 *
 * Colours are those of the theme, and follow it. The legend has the values at the pointer, or the newest ones.
 */
export class PlotElement extends LitElement {
  static override styles = plotElementStyles;
  static override properties = {
    label: {},
    times: { attribute: false },
    series: { attribute: false },
    kind: {},
    format: { attribute: false },
    isWhole: { attribute: false },
    height: { type: Number },
    group: {},
    isTable: { state: true },
    shown: { state: true },
    hasFailed: { state: true },
  };
  /** The title of the plot, and its name for screen readers. */
  declare label: string;
  /** Moments in seconds since 1970, in ascending order. */
  declare times: readonly number[];
  declare series: readonly PlotSeries[];
  declare kind: PlotKind;
  /** Writes a value with its unit, for the axis, the legend and the table. */
  declare format: (value: number) => string;
  /** Whether the axis has whole numbers only, as for counts. */
  declare isWhole: boolean;
  /** Height of the drawing in pixels. */
  declare height: number;
  /** Plots with the same group show the values of the same moment. */
  declare group: string;
  declare isTable: boolean;
  /** The position of the moment whose values are in the legend. Null for the newest. */
  declare shown: number | null;
  /** Whether uPlot could not be loaded. The table is shown instead. */
  declare hasFailed: boolean;

  #plot: uPlot | null = null;
  #drawnAs = ""; // what the drawing was built for; it is built again when that changes
  #generation = 0;
  #colors = new Map<string, string>();
  readonly #sizes = new ResizeObserver(() => this.#resize());
  readonly #themes = new MutationObserver(() => this.#recolor());
  readonly #darkness = globalThis.matchMedia("(prefers-color-scheme: dark)");

  constructor() {
    super();
    this.label = "";
    this.times = [];
    this.series = [];
    this.kind = "lines";
    this.format = (value) => value.toLocaleString();
    this.isWhole = false;
    this.height = HEIGHT;
    this.group = "";
    this.isTable = false;
    this.shown = null;
    this.hasFailed = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#sizes.observe(this);
    this.#darkness.addEventListener("change", this.#recolor);
    let root = this.getRootNode();
    for (; root instanceof ShadowRoot; root = root.host.getRootNode()) {
      this.#themes.observe(root.host, { attributeFilter: ["theme"] });
    }
    this.requestUpdate();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#sizes.disconnect();
    this.#themes.disconnect();
    this.#darkness.removeEventListener("change", this.#recolor);
    this.#destroy();
  }

  override render(): TemplateResult {
    const isEmpty = isEmptyPlot(this.times, this.series);
    const isTable = this.isTable || this.hasFailed;
    return html`<figure>
      <figcaption>
        <strong>${this.label}</strong>
        ${isEmpty || this.hasFailed ? nothing : this.#switch()}
      </figcaption>
      ${isEmpty ? html`<p class="empty">${plotTexts.empty}</p>` : nothing}
      <div class="place" role="img" aria-label=${this.label} ?hidden=${isEmpty || isTable}></div>
      ${isEmpty ? nothing : isTable ? this.#table() : this.#legend()}
    </figure>`;
  }

  override updated(changed: PropertyValues<this>): void {
    const empty = this.renderRoot.querySelector<HTMLElement>(".empty");
    if (empty !== null) empty.style.height = `${this.height}px`;
    for (const swatch of this.renderRoot.querySelectorAll<HTMLElement>(".swatch")) {
      swatch.style.color = `var(--${swatch.dataset["color"] ?? "ink"})`;
    }
    const isOnlyPointer = changed.size === 1 && changed.has("shown");
    if (!isOnlyPointer) void this.#draw();
  }

  #switch() {
    return html`<button type="button" class="quiet" @click=${() => (this.isTable = !this.isTable)}>
      ${this.isTable ? plotTexts.asPlot : plotTexts.asTable}
    </button>`;
  }

  #legend() {
    const at = Math.min(this.shown ?? this.times.length - 1, this.times.length - 1);
    const moment = this.times[at];
    return html`<ul class="legend">
      ${this.series.map(({ label, values, color }) => {
        const value = values[at];
        const shown = value === null || value === undefined ? "" : this.format(value);
        return html`<li><span class="swatch" data-color=${color}></span>${label} <b>${shown}</b></li>`;
      })}
      ${this.shown === null || moment === undefined ? nothing : html`<li>${timeLabels([moment])}</li>`}
    </ul>`;
  }

  #table() {
    const first = Math.max(0, this.times.length - MAX_ROWS);
    const labels = this.#labelsOf(this.times).slice(first);
    return html`<div class="scrolled" tabindex="0" role="region" aria-label=${this.label}>
      <table>
        <thead>
          <tr>
            <th scope="col">${plotTexts.time}</th>
            ${this.series.map(({ label }) => html`<th scope="col">${label}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${labels.map((label, at) => html`<tr><th scope="row">${label}</th>${this.#cells(first + at)}</tr>`).reverse()}
        </tbody>
      </table>
      ${first > 0 ? html`<p>${plotTexts.moreRows(MAX_ROWS)}</p>` : nothing}
    </div>`;
  }

  #cells(at: number) {
    return this.series.map(({ values }) => {
      const value = values[at];
      return html`<td>${value === null || value === undefined ? "–" : this.format(value)}</td>`;
    });
  }

  #labelsOf(moments: readonly number[]): string[] {
    return timeLabels(moments);
  }

  // The drawing

  async #draw(): Promise<void> {
    const place = this.renderRoot.querySelector<HTMLElement>(".place");
    if (place === null || place.hidden || !this.isConnected) return this.#destroy();
    place.style.height = `${this.height}px`;
    const mine = ++this.#generation;
    let made: Uplot;
    try {
      made = (await import("uplot")).default;
    } catch {
      this.hasFailed = true;
      return;
    }
    if (mine !== this.#generation || !this.isConnected) return;
    this.#readColors();
    const drawn = drawnSeries(this.times, this.series, this.kind);
    const data: uPlot.AlignedData = [[...this.times], ...drawn.map(({ values }) => values)];
    const colors = this.series.map(({ color }) => color).join();
    const drawnAs = [this.kind, colors, this.isWhole, this.group].join("|");
    if (this.#plot !== null && this.#drawnAs === drawnAs) return this.#plot.setData(data);
    this.#destroy();
    this.#drawnAs = drawnAs;
    this.#plot = new made(
      this.#options(
        made,
        drawn.map(({ position }) => position),
        place,
      ),
      data,
      place,
    );
  }

  #options(made: Uplot, positions: readonly number[], place: HTMLElement): uPlot.Options {
    const bars = made.paths.bars?.({ size: [0.7, 24] });
    const axis = { stroke: () => this.#color("faint"), font: FONT, ticks: { show: false } };
    const group = this.group === "" ? {} : { sync: { key: this.group } };
    return {
      width: Math.max(place.clientWidth, 50),
      height: this.height,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false, points: { size: 7 }, ...group },
      padding: [8, 12, 0, 0],
      scales: {
        x: { range: (_, first, last) => timeRange(first, last, this.times, this.kind) },
        y: { range: (_, __, highest) => rangeFromZero(highest, this.isWhole) },
      },
      axes: [
        { ...axis, grid: { show: false }, space: 70, size: 26, values: (_, moments) => this.#labelsOf(moments) },
        {
          ...axis,
          grid: { stroke: () => this.#color("line"), width: 1 },
          space: 32,
          size: (_, labels) => 16 + 7 * Math.max(3, ...(labels ?? []).map(({ length }) => length)),
          values: (_, values) => values.map((value) => this.format(value)),
          ...(this.isWhole ? { incrs: WHOLE_STEPS } : {}),
        },
      ],
      series: [
        {},
        ...positions.map((position): uPlot.Series => {
          const color = () => this.#color(this.series[position]?.color ?? "ink");
          const isLine = this.kind === "lines" || bars === undefined;
          return isLine
            ? { stroke: color, width: 2, points: { show: true, size: 5, fill: color, filter: isolatedPoints } }
            : { stroke: color, fill: color, width: 0, paths: bars, points: { show: false } };
        }),
      ],
      hooks: { setCursor: [({ cursor }) => (this.shown = (cursor.left ?? -1) < 0 ? null : (cursor.idx ?? null))] },
    };
  }

  #resize(): void {
    const place = this.renderRoot.querySelector<HTMLElement>(".place");
    const width = place?.clientWidth ?? 0;
    if (this.#plot === null || width === 0 || width === this.#plot.width) return;
    this.#plot.setSize({ width, height: this.height });
  }

  readonly #recolor = () => {
    this.#readColors();
    this.#plot?.redraw(); // the paths too: those of bars contain the colours
  };

  #destroy(): void {
    this.#generation++;
    this.#plot?.destroy();
    this.#plot = null;
    this.shown = null;
  }

  // The colours, as the canvas needs them: without custom properties and light-dark()

  #color(name: PlotColor | "line"): string {
    return this.#colors.get(name) ?? "gray";
  }

  #readColors(): void {
    const probe = document.createElement("span");
    this.renderRoot.append(probe);
    for (const name of ["faint", "line", ...this.series.map(({ color }) => color)]) {
      probe.style.color = `var(--${name})`;
      this.#colors.set(name, getComputedStyle(probe).color);
    }
    probe.remove();
  }
}

customElements.define("callboard-plot", PlotElement);
