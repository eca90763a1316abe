import { html, type PropertyValues, type TemplateResult } from "lit";
import { SelectEventEvent } from "../../events/select-event-event.ts";
import { TimeWindowEvent } from "../../events/time-window-event.ts";
import type { BoardController } from "../../state/board-controller.ts";
import type { Entry } from "../../state/board-entry.ts";
import { isFiltered } from "../../state/board-filter.ts";
import { type Layout, layOut } from "../../state/board-layout.ts";
import { extent, type Phase, type Track } from "../../state/board-tracks.ts";
import { Deque } from "../../state/deque.ts";
import { nextFrame } from "../../state/next-frame.ts";
import { TimeScale, type TimeWindow } from "../../state/time-scale.ts";
import { boardTexts } from "../../texts/board.ts";
import { Part } from "../part/part.ts";
import { fittedContext } from "./canvas.ts";
import { DragController } from "./drag-controller.ts";
import { AXIS, GUTTER, heightOf, hit, paintLanes, places, type Scene } from "./lane-painter.ts";
import { type Density, densityOf, paintOverview } from "./overview-painter.ts";
import { COLOURS, type Palette, readPalette } from "./palette.ts";
import { describeEntry, describeTrack, placeTip, timeText } from "./tip.ts";
import { ZoomController } from "./zoom-controller.ts";

const LAYOUT_PAUSE = 200; // milliseconds between two layouts while events arrive, at least
const LAYOUT_SHARE = 0.1; // share of the time that layouts may take then
const TICK = 1_000; // milliseconds between two paintings of what is running
const ZOOM = 1.5; // factor of a button
const COLUMN = 3; // pixels of a column of the overview
const PHASES: readonly Phase[] = ["queue", "work", "person", "pause"];

type Points = Scene["points"];

/**
 * The lanes of the timeline on a canvas, with an overview. The list beside it has the same events for screen readers.
 *
 * @fires callboard-time-window - The person zooms or moves the lanes.
 * @fires callboard-select-event - The person selects an event.
 */
export class BoardLanesElement extends Part {
  static override properties = {
    board: { attribute: false },
    version: { attribute: false },
    window: { attribute: false },
    active: { attribute: false },
    follows: { attribute: false },
    skipsIdle: { attribute: false },
    theme: { attribute: false },
  };
  declare board: BoardController;
  /** Changes with the events. */
  declare version: number;
  /** The times in view. Null for all. */
  declare window: TimeWindow | null;
  /** The number of the selected event. 0 for none. */
  declare active: number;
  declare follows: boolean;
  declare skipsIdle: boolean;
  /** Changes with the colours. */
  declare theme: string;

  #layout: Layout | null = null;
  #points: Points = { people: new Deque(), system: new Deque() };
  #scale = new TimeScale();
  #density: Density = { counts: new Uint32Array(0), failures: new Uint32Array(0) };
  #palette: Palette | null = null;
  #nextLayout = 0; // the earliest time of the next layout while events arrive
  #laterLayout: ReturnType<typeof setTimeout> | undefined;
  #ticking: ReturnType<typeof setInterval> | undefined;
  #cancelPaint: (() => void) | null = null;
  #hovered: number | null = null;
  readonly #resizes = new ResizeObserver(() => this.#layOut());
  readonly #dark = matchMedia("(prefers-color-scheme: dark)");
  readonly #drag = new DragController(this);
  readonly #keys = new ZoomController(this);

  constructor() {
    super();
    this.version = this.active = 0;
    this.window = null;
    this.follows = this.skipsIdle = true;
    this.theme = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#dark.addEventListener("change", this.#recolour);
    this.#ticking = setInterval(() => {
      if (this.#isRunning && !document.hidden) this.#layOut();
    }, TICK);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#dark.removeEventListener("change", this.#recolour);
    this.#resizes.disconnect();
    this.#cancelPaint?.();
    clearTimeout(this.#laterLayout);
    clearInterval(this.#ticking);
  }

  override firstUpdated(): void {
    this.#resizes.observe(this);
  }

  override render(): TemplateResult {
    return html`
      <div class="bar">
        <canvas id="overview" aria-hidden="true"></canvas>
        <div class="zoom">
          ${this.#button("zoom-out", boardTexts.zoomOut, "−", () => this.zoom(1 / ZOOM))}
          ${this.#button("zoom-in", boardTexts.zoomIn, "+", () => this.zoom(ZOOM))}
          ${this.#button("fit", boardTexts.fit, "⤢", () => this.fit())}
        </div>
      </div>
      <div
        id="lanes"
        role="group"
        tabindex="0"
        aria-label=${boardTexts.lanesLabel}
        @keydown=${this.#keys.onKey}
        @scroll=${() => this.#paintSoon()}
      >
        <div class="room" role="presentation">
          <canvas
            id="lane-canvas"
            role="img"
            aria-label=${boardTexts.lanesImage(this.board.log.length)}
            @click=${this.#onClick}
            @dblclick=${this.#onDoubleClick}
            @pointermove=${this.#onHover}
            @pointerleave=${this.#onLeave}
          ></canvas>
        </div>
      </div>
      <p class="tip" hidden></p>
      <ul class="legend" aria-label=${boardTexts.legend}>
        ${PHASES.map((phase) => html`<li><i class="swatch ${phase}"></i>${boardTexts.phases[phase]}</li>`)}
        <li><i class="swatch good"></i>${boardTexts.outcomes.succeeded}</li>
        <li><i class="swatch bad"></i>${boardTexts.outcomes.failed}</li>
      </ul>
      <div class="samples" hidden>${COLOURS.map((colour) => html`<i data-colour=${colour}></i>`)}</div>
    `;
  }

  #button(id: string, label: string, text: string, action: () => void) {
    return html`<button type="button" class="quiet" id=${id} title=${label} aria-label=${label} @click=${action}>${text}</button>`;
  }

  override updated(changed: PropertyValues<this>): void {
    if (changed.has("theme")) this.#palette = null;
    const isOther = changed.has("skipsIdle") || changed.has("board");
    if (isOther || this.#layout === null) this.#layOut();
    else if (changed.has("version")) this.#layOutSoon();
    if (changed.has("active") && changed.get("active") !== undefined) this.#reveal();
    this.#paintSoon();
  }

  /** The times in view. */
  get view(): TimeWindow {
    const bounds = this.#bounds;
    if (this.window === null) return bounds;
    return this.follows ? this.#scale.toEnd(this.window, bounds) : this.window;
  }

  // The layout

  get #bounds(): TimeWindow {
    const { from, to } = this.#layout ?? { from: 0, to: 1_000 };
    const position = [this.#scale.position(from), this.#scale.position(to)] as const;
    const room = Math.max(50, (position[1] - position[0]) * 0.02);
    return { from: from - room, to: to + room };
  }

  /** Whether a turn or a call works now. */
  get #isRunning(): boolean {
    const isOpen = (track: Track) => {
      const last = this.board.tracks.segments(track).at(-1);
      return last?.to === null && last.phase !== "person";
    };
    const rows = this.#layout?.rows;
    return (
      rows !== undefined &&
      [...rows.calls, ...rows.turns].some((row) => row.at(-1) !== undefined && isOpen(row.at(-1) as Track))
    );
  }

  #layOutSoon(): void {
    const wait = this.#nextLayout - performance.now();
    if (wait <= 0) return this.#layOut();
    this.#laterLayout ??= setTimeout(() => this.#layOut(), wait);
  }

  #layOut(): void {
    clearTimeout(this.#laterLayout);
    this.#laterLayout = undefined;
    const start = performance.now();
    const { log, tracks, shown, filter } = this.board;
    const width = this.clientWidth;
    if (width === 0 || log.first === undefined || log.last === undefined) return; // not shown, or nothing to show
    const to = this.#isRunning ? Math.max(log.last.at, Date.now()) : log.last.at;
    let isShown: (track: Track) => boolean = () => true;
    this.#points = tracks.points;
    if (isFiltered(filter)) {
      const ids = new Set<string>();
      const points = { people: new Deque<Entry>(), system: new Deque<Entry>() };
      for (const entry of shown.entries) {
        for (const id of [entry.call, entry.request, entry.turn]) if (id !== "") ids.add(id);
        if (entry.request === "" && (entry.lane === "people" || entry.lane === "system"))
          points[entry.lane].addNewest(entry);
      }
      this.#points = points;
      isShown = ({ id }) => ids.has(id);
    }
    this.#layout = layOut(tracks, { from: log.first.at, to: Math.max(to, log.first.at + 10) }, isShown);
    this.#scale = new TimeScale(this.skipsIdle ? this.#layout.gaps : []);
    const columns = Math.max(1, Math.floor((this.#overview?.clientWidth ?? 0) / COLUMN));
    this.#density = densityOf(shown.entries, this.#scale, this.#bounds, columns);
    const room = this.querySelector<HTMLElement>(".room");
    if (room !== null) room.style.height = `${AXIS + heightOf(places(this.#scene(this.#layout)))}px`;
    const spent = performance.now() - start;
    this.#nextLayout = start + Math.max(LAYOUT_PAUSE, spent / LAYOUT_SHARE);
    this.#paintSoon();
  }

  #scene(layout: Layout): Scene {
    return {
      layout,
      tracks: this.board.tracks,
      points: this.#points,
      scale: this.#scale,
      window: this.view,
      selected: this.board.entry(this.active),
      hovered: this.#hovered,
    };
  }

  // Painting

  #paintSoon(): void {
    this.#cancelPaint ??= nextFrame(() => {
      this.#cancelPaint = null;
      this.#paint();
    });
  }

  #paint(): void {
    const [canvas, overview, layout] = [this.#canvas, this.#overview, this.#layout];
    if (canvas === null || overview === null || layout === null || this.clientWidth === 0) return;
    const height = this.#scroller.clientHeight;
    const [context, other] = [fittedContext(canvas, height), fittedContext(overview, overview.clientHeight)];
    if (context === null || other === null) return;
    this.#palette ??= readPalette(context, this.querySelectorAll(".samples > i"), devicePixelRatio);
    const scene = this.#scene(layout);
    const top = this.#scroller.scrollTop;
    paintLanes(context, scene, this.#palette, { width: canvas.clientWidth, height, top });
    const x = this.#scale.project(this.#bounds, overview.clientWidth);
    const { from, to } = scene.window;
    const size = {
      width: overview.clientWidth,
      height: overview.clientHeight,
      column: COLUMN,
      from: x(from),
      to: x(to),
    };
    paintOverview(other, this.#density, this.#palette, size);
    canvas.dataset["from"] = String(Math.round(from));
    canvas.dataset["to"] = String(Math.round(to));
  }

  readonly #recolour = () => {
    this.#palette = null;
    this.#paintSoon();
  };

  // Zooming and moving

  #go(window: TimeWindow | null): void {
    this.dispatchEvent(new TimeWindowEvent(window));
  }

  /** Show everything. */
  fit(): void {
    this.#go(null);
  }

  /** Zoom around a place of the window, by default the selected event or the middle. */
  zoom(factor: number, place = this.#selectedPlace ?? 0.5): void {
    const bounds = this.#bounds;
    const to = this.#scale.zoom(this.view, factor, place, bounds);
    const isAll = to.from <= bounds.from && to.to >= bounds.to;
    this.#go(isAll ? null : to);
  }

  /** The place of the selected event in the window, from 0 to 1. Null if it is outside. */
  get #selectedPlace(): number | null {
    const entry = this.board.entry(this.active);
    if (entry === null) return null;
    const place = this.#scale.project(this.view, 1)(entry.at);
    return place >= 0 && place <= 1 ? place : null;
  }

  /** Move the window to the selected event, if it is outside. */
  #reveal(): void {
    const entry = this.board.entry(this.active);
    if (entry === null || this.#layout === null || this.window === null || this.#selectedPlace !== null) return;
    this.pan(this.#scale.project(this.view, 1)(entry.at) - 0.5);
  }

  /** Move by a share of the window. */
  pan(share: number): void {
    if (this.window !== null || share !== 0) this.#go(this.#scale.pan(this.view, share, this.#bounds));
  }

  /** Show a part of the overview, from one share of its width to another. */
  brush(from: number, to: number): void {
    const bounds = this.#bounds;
    const [start, end] = [this.#scale.timeAt(bounds, from), this.#scale.timeAt(bounds, to)];
    this.#go({ from: start, to: Math.max(end, start + 2) });
  }

  /** The window as shares of the overview. */
  get brushed(): { from: number; to: number } {
    const x = this.#scale.project(this.#bounds, 1);
    return { from: x(this.view.from), to: x(this.view.to) };
  }

  // The pointer

  #hit(event: MouseEvent): { track: Track; at: number } | Entry | null {
    const [canvas, layout] = [this.#canvas, this.#layout];
    if (canvas === null || layout === null || event.offsetY < AXIS) return null;
    return hit(this.#scene(layout), canvas.clientWidth, event.offsetX, event.offsetY - AXIS + this.#scroller.scrollTop);
  }

  readonly #onClick = (event: MouseEvent) => {
    if (this.#drag.hasMoved) return;
    const found = this.#hit(event);
    if (found === null) return;
    const entry = "track" in found ? this.board.tracks.entryAt(found.track, found.at) : found;
    if (entry !== null) this.dispatchEvent(new SelectEventEvent(entry.seq, true));
  };

  readonly #onDoubleClick = (event: MouseEvent) => {
    const found = this.#hit(event);
    if (found !== null && "track" in found) this.#zoomTo(found.track);
  };

  /** Show a track with some room around it. */
  #zoomTo(track: Track): void {
    const { from, to } = extent(this.board.tracks.segments(track));
    const end = to ?? this.#layout?.to ?? from;
    const room = Math.max(5, (end - from) * 0.2);
    this.#go({ from: from - room, to: end + room });
  }

  readonly #onHover = (event: PointerEvent) => {
    const canvas = this.#canvas;
    if (canvas === null || event.pointerType === "touch") return;
    const place = (event.offsetX - GUTTER) / (canvas.clientWidth - GUTTER);
    this.#hovered = place < 0 ? null : this.#scale.timeAt(this.view, place);
    const found = this.#drag.isDragging ? null : this.#hit(event);
    canvas.classList.toggle("pointed", found !== null);
    const time = this.#hovered === null ? "" : timeText(this.#hovered, this.board.log.first?.at ?? 0);
    this.#tip(found === null ? time : this.#describe(found), event);
    this.#paintSoon();
  };

  readonly #onLeave = (event: PointerEvent) => {
    this.#hovered = null;
    this.#tip("", event);
    this.#paintSoon();
  };

  #describe(found: { track: Track; at: number } | Entry): string {
    const start = this.board.log.first?.at ?? 0;
    if (!("track" in found)) return describeEntry(found, start);
    const segments = this.board.tracks.segments(found.track);
    return `${describeTrack(found.track, segments, this.#layout?.to ?? found.at)}\n${timeText(found.at, start)}`;
  }

  #tip(text: string, pointer: { clientX: number; clientY: number }): void {
    const tip = this.querySelector<HTMLElement>(".tip");
    if (tip !== null) placeTip(tip, text, this.getBoundingClientRect(), pointer);
  }

  get #canvas(): HTMLCanvasElement | null {
    return this.querySelector("#lane-canvas");
  }

  get #overview(): HTMLCanvasElement | null {
    return this.querySelector("#overview");
  }

  get #scroller(): HTMLElement {
    return this.querySelector<HTMLElement>("#lanes") ?? this;
  }
}

customElements.define("callboard-board-lanes", BoardLanesElement);
