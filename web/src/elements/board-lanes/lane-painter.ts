/**
 * Paints the lanes on a canvas: rows of tracks with their segments, single events, the scale, idle times and the selection.
 *
 * What shares a pixel with what is already painted is left out, so that the time of a frame does not grow with the events.
 */
import { duration } from "../../format.ts";
import { type Entry, type Lane, LANES } from "../../state/board-entry.ts";
import type { Layout } from "../../state/board-layout.ts";
import { type BoardTracks, extent, type Segment, type Track } from "../../state/board-tracks.ts";
import type { Deque } from "../../state/deque.ts";
import { tickLabel, type TimeScale, type TimeWindow } from "../../state/time-scale.ts";
import { boardTexts } from "../../texts/board.ts";
import type { Palette } from "./palette.ts";

export const GUTTER = 72; // pixels of the names of the lanes
export const AXIS = 24; // pixels of the scale
const ROW = 22;
const BAR = 14;
const PAD = 7; // pixels above and below the rows of a lane
const TICKS = 96; // pixels between two labels of the scale
const LABEL = 34; // pixels that a label needs at least
const DENSE = 3; // pixels below which a track is painted without its segments
const SLACK = 1_000; // milliseconds by which the times of events may differ from their order

/** What is painted. */
export interface Scene {
  readonly layout: Layout;
  readonly tracks: BoardTracks;
  readonly points: Readonly<Record<"people" | "system", Deque<Entry>>>;
  readonly scale: TimeScale;
  readonly window: TimeWindow;
  readonly selected: Entry | null;
  readonly hovered: number | null;
}

/** The places of lanes and rows, in pixels from the top of the lanes. */
export interface Place {
  readonly lane: Lane;
  readonly top: number;
  readonly height: number;
  readonly rows: readonly (readonly Track[])[];
  /** The single events, which have a row of their own before the others. */
  readonly points: Deque<Entry> | null;
}

export function places({ layout, points }: Pick<Scene, "layout" | "points">): Place[] {
  let top = 0;
  return LANES.map((lane) => {
    const own = lane === "people" || lane === "system" ? points[lane] : null;
    const rows = layout.rows[lane].filter((row) => row.length > 0);
    const height = Math.max(1, rows.length + (own === null ? 0 : 1)) * ROW + 2 * PAD;
    const place = { lane, top, height, rows, points: own };
    top += height;
    return place;
  });
}

/** The height of all lanes, without the scale. */
export const heightOf = (all: readonly Place[]) => all.reduce((total, { height }) => total + height, 0);

/** What is at a place of the lanes: a single event, or a track and the time there. */
export function hit(scene: Scene, width: number, x: number, y: number): { track: Track; at: number } | Entry | null {
  const place = places(scene).find(({ top, height }) => y >= top && y < top + height);
  if (place === undefined || x < GUTTER) return null;
  const at = scene.scale.timeAt(scene.window, (x - GUTTER) / (width - GUTTER));
  const project = scene.scale.project(scene.window, width - GUTTER);
  let row = Math.floor((y - place.top - PAD) / ROW);
  if (place.points !== null && row-- <= 0)
    return nearest(place.points, at, (each) => Math.abs(project(each) - (x - GUTTER)));
  const tracks = place.rows[row] ?? [];
  for (let index = firstVisible(tracks, scene.tracks, at) + 1; index >= 0; index--) {
    const track = tracks[index];
    if (track === undefined) continue;
    const { from, to } = extent(scene.tracks.segments(track));
    const [start, end] = [project(from), project(to ?? scene.layout.to)];
    if (x - GUTTER >= start - 3 && x - GUTTER <= Math.max(end, start + 3) + 3) return { track, at };
    if (end < x - GUTTER - 50) break;
  }
  return null;
}

function nearest(points: Deque<Entry>, at: number, distance: (at: number) => number): Entry | null {
  const middle = points.search((entry) => entry.at < at);
  let best: Entry | null = null;
  for (let index = middle - 20; index < middle + 20; index++) {
    const entry = points.at(index);
    if (entry !== undefined && distance(entry.at) <= 6 && (best === null || distance(entry.at) < distance(best.at)))
      best = entry;
  }
  return best;
}

/** The last track of a row that starts at or before a time, or the first. */
function firstVisible(row: readonly Track[], tracks: BoardTracks, at: number): number {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (extent(tracks.segments(row[middle] as Track)).from <= at) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Paint a scene. `top` is how far the lanes are scrolled. */
export function paintLanes(
  context: CanvasRenderingContext2D,
  scene: Scene,
  palette: Palette,
  size: { width: number; height: number; top: number },
): void {
  new LanePainter(context, scene, palette, size).paint();
}

class LanePainter {
  readonly #context: CanvasRenderingContext2D;
  readonly #scene: Scene;
  readonly #palette: Palette;
  readonly #width: number;
  readonly #height: number;
  readonly #top: number;
  readonly #x: (at: number) => number;
  readonly #marked: Track | null;

  constructor(
    context: CanvasRenderingContext2D,
    scene: Scene,
    palette: Palette,
    { width, height, top }: { width: number; height: number; top: number },
  ) {
    this.#context = context;
    this.#scene = scene;
    this.#palette = palette;
    this.#width = width;
    this.#height = height;
    this.#top = top;
    const project = scene.scale.project(scene.window, width - GUTTER);
    this.#x = (at) => GUTTER + project(at);
    const { selected, tracks } = scene;
    this.#marked =
      selected === null
        ? null
        : (tracks.calls.get(selected.call) ??
          tracks.requests.get(selected.request) ??
          tracks.turns.get(selected.turn) ??
          null);
  }

  paint(): void {
    const context = this.#context;
    context.clearRect(0, 0, this.#width, this.#height);
    context.font = this.#palette.font;
    context.textBaseline = "middle";
    this.#paintGaps();
    for (const place of places(this.#scene)) this.#paintLane(place);
    this.#paintMoment(this.#scene.hovered, this.#palette.colours.faint);
    if (this.#scene.selected !== null) this.#paintMoment(this.#scene.selected.at, this.#palette.colours.focus);
    this.#paintAxis();
  }

  #paintLane({ lane, top, height, rows, points }: Place): void {
    const [context, { colours }] = [this.#context, this.#palette];
    const y = AXIS + top - this.#top;
    if (y > this.#height || y + height < AXIS) return;
    context.fillStyle = colours.line;
    context.fillRect(0, Math.round(y + height) - 1, this.#width, 1);
    context.save();
    context.beginPath();
    context.rect(GUTTER, AXIS, this.#width - GUTTER, this.#height - AXIS);
    context.clip();
    if (points !== null) this.#paintPoints(points, y + PAD + ROW / 2, lane);
    const first = points === null ? 0 : 1;
    for (const [index, row] of rows.entries()) {
      const middle = y + PAD + (index + first) * ROW + ROW / 2;
      if (middle + ROW > AXIS && middle - ROW < this.#height) this.#paintRow(row, middle);
    }
    context.restore();
    context.fillStyle = colours.faint;
    context.fillText(boardTexts.lanes[lane], 12, Math.max(y + PAD + ROW / 2, AXIS + 12), GUTTER - 16);
  }

  #paintRow(row: readonly Track[], y: number): void {
    const { tracks, window } = this.#scene;
    let [painted, failed] = [-Infinity, -Infinity];
    for (let index = firstVisible(row, tracks, window.from); index < row.length; index++) {
      const track = row[index] as Track;
      const segments = tracks.segments(track);
      const { from, to } = extent(segments);
      if (from > window.to) break;
      const end = this.#x(to ?? this.#scene.layout.to);
      const isMarked = track === this.#marked;
      if (end - this.#x(from) < DENSE && !isMarked) {
        painted = Math.max(painted, this.#paintDense(track, segments, y, painted));
        if (segments.some((segment) => segment.failed) && end >= failed + 1) this.#paintFailure((failed = end), y);
        continue;
      }
      for (const segment of segments) this.#paintSegment(track, segment, y);
      painted = Math.max(end, this.#x(from) + 2);
      const next = row[index + 1];
      const free = next === undefined ? this.#width : this.#x(extent(tracks.segments(next)).from);
      this.#paintLabel(track, segments, y, free);
      this.#paintTicks(track, y);
      if (isMarked) this.#paintFrame(this.#x(from), end, y);
    }
  }

  /** A track that is too short for its segments. Returns the end of what is painted. */
  #paintDense(track: Track, segments: readonly Segment[], y: number, painted: number): number {
    const { from, to } = extent(segments);
    const start = this.#x(from);
    const end = Math.max(this.#x(to ?? this.#scene.layout.to), start + 1);
    if (end < painted + 0.5) return painted;
    const { colours, patterns } = this.#palette;
    const isRunning = to === null || track.lane === "turns";
    this.#context.fillStyle = track.lane === "people" ? patterns.person : isRunning ? colours.busy : colours.good;
    this.#context.fillRect(start, y - BAR / 2, end - start, BAR);
    return end;
  }

  #paintFailure(x: number, y: number): void {
    this.#context.fillStyle = this.#palette.colours.bad;
    this.#context.fillRect(x - 1, y, 2, BAR / 2 + 2);
  }

  #paintSegment(track: Track, segment: Segment, y: number): void {
    const context = this.#context;
    const { patterns, colours } = this.#palette;
    const start = Math.max(this.#x(segment.from), GUTTER - 4);
    const end = Math.min(this.#x(segment.to ?? this.#scene.layout.to), this.#width + 4);
    if (end < GUTTER || start > this.#width) return;
    const width = Math.max(2, end - start);
    switch (segment.phase) {
      case "pause":
        context.fillStyle = colours.bad;
        context.fillRect(start, y - 0.75, width, 1.5);
        return;
      case "queue":
        context.fillStyle = segment.failed ? colours.bad : patterns.queue;
        break;
      case "person":
        context.fillStyle = patterns.person;
        break;
      case "work":
        context.fillStyle = this.#workColour(track, segment);
    }
    if (width < 6) context.fillRect(start, y - BAR / 2, width, BAR);
    else {
      context.beginPath();
      context.roundRect(start, y - BAR / 2, width, BAR, 3);
      context.fill();
    }
    if (segment.phase === "person" && segment.failed && segment.to !== null) {
      context.fillStyle = colours.bad;
      context.fillRect(start + width - 2, y - BAR / 2, 2, BAR);
    }
  }

  #workColour(track: Track, { failed, to }: Segment): string {
    const { colours } = this.#palette;
    if (failed) return colours.bad;
    const last = track.steps.last;
    if (last?.status === "cancelled" || last?.kind === "turn_interrupted") return colours.faint;
    return to === null ? colours.busy : track.lane === "turns" ? colours.busy : colours.good;
  }

  /** The name of a track, in its bar or after it, and the numbers of its attempts. */
  #paintLabel(track: Track, segments: readonly Segment[], y: number, free: number): void {
    const context = this.#context;
    const { colours } = this.#palette;
    const works = segments.filter(({ phase }) => phase === "work");
    if (works.length > 1 && track.lane === "calls") {
      context.fillStyle = colours.sheet;
      for (const { from, to, attempt } of works) {
        const [start, end] = [this.#x(from), this.#x(to ?? this.#scene.layout.to)];
        if (end - start >= 12) context.fillText(String(attempt), start + 4, y + 0.5);
      }
    }
    const { from, to } = extent(segments);
    const [start, end] = [Math.max(this.#x(from), GUTTER), this.#x(to ?? this.#scene.layout.to)];
    const label = track.lane === "turns" ? boardTexts.turn : track.label;
    const only = segments.length === 1 && segments[0]?.phase === "work";
    if (only && end - start >= LABEL + 20) {
      context.save();
      context.beginPath();
      context.rect(start, y - ROW / 2, end - start - 4, ROW);
      context.clip();
      context.fillStyle = colours.sheet;
      context.fillText(label, start + 6, y + 0.5);
      context.restore();
    } else if (free - end >= LABEL && end < this.#width) {
      context.save();
      context.beginPath();
      context.rect(end, y - ROW / 2, free - end - 6, ROW);
      context.clip();
      context.fillStyle = colours.faint;
      context.fillText(label, end + 6, y + 0.5);
      context.restore();
    }
  }

  /** The progress and partial results of a call, or the texts of a turn. */
  #paintTicks({ ticks }: Track, y: number): void {
    const { window } = this.#scene;
    if (ticks.length === 0) return;
    this.#context.fillStyle = this.#palette.colours.sheet;
    let painted = -Infinity;
    for (let index = ticks.search(({ at }) => at < window.from - SLACK); index < ticks.length; index++) {
      const at = ticks.at(index)?.at ?? 0;
      if (at > window.to + SLACK) break;
      const x = this.#x(at);
      if (x < painted + 3) continue;
      this.#context.fillRect(x - 0.5, y + BAR / 2 - 4, 1, 4);
      painted = x;
    }
  }

  #paintPoints(points: Deque<Entry>, y: number, lane: Lane): void {
    const context = this.#context;
    const { colours } = this.#palette;
    const { window } = this.#scene;
    let painted = -Infinity;
    let failed = -Infinity;
    for (let index = points.search(({ at }) => at < window.from - SLACK); index < points.length; index++) {
      const entry = points.at(index) as Entry;
      if (entry.at > window.to + SLACK) break;
      const x = this.#x(entry.at);
      if (x < (entry.failed ? failed : painted) + 2) continue;
      context.fillStyle = entry.failed ? colours.bad : lane === "people" ? colours.ink : colours.busy;
      context.beginPath();
      if (lane === "people") context.roundRect(x - 3.5, y - 5, 7, 10, 3.5);
      else context.arc(x, y, 4, 0, 2 * Math.PI);
      context.fill();
      if (entry.failed) failed = x;
      else painted = x;
    }
  }

  #paintFrame(start: number, end: number, y: number): void {
    const context = this.#context;
    context.strokeStyle = this.#palette.colours.focus;
    context.lineWidth = 1.5;
    context.beginPath();
    context.roundRect(start - 2.5, y - BAR / 2 - 2.5, Math.max(2, end - start) + 5, BAR + 5, 5);
    context.stroke();
  }

  #paintMoment(at: number | null, colour: string): void {
    if (at === null) return;
    const x = this.#x(at);
    if (x < GUTTER || x > this.#width) return;
    this.#context.fillStyle = colour;
    this.#context.globalAlpha = 0.7;
    this.#context.fillRect(Math.round(x), AXIS, 1, this.#height - AXIS);
    this.#context.globalAlpha = 1;
  }

  #paintGaps(): void {
    const context = this.#context;
    const { scale, window } = this.#scene;
    for (const { from, to } of scale.gaps) {
      if (to < window.from || from > window.to) continue;
      const [start, end] = [Math.max(GUTTER, this.#x(from)), this.#x(to)];
      if (end - start < 2) continue;
      context.fillStyle = this.#palette.colours.line;
      context.globalAlpha = 0.45;
      context.fillRect(start, AXIS, end - start, this.#height - AXIS);
      context.globalAlpha = 1;
    }
  }

  #paintAxis(): void {
    const context = this.#context;
    const { colours } = this.#palette;
    const { scale, window } = this.#scene;
    context.clearRect(0, 0, this.#width, AXIS);
    context.fillStyle = colours.line;
    context.fillRect(0, AXIS - 1, this.#width, 1);
    const ticks = scale.ticks(window, this.#width - GUTTER, TICKS);
    const step = Math.min(
      ...ticks.slice(1).map(({ at }, index) => at - (ticks[index]?.at ?? 0)),
      window.to - window.from,
    );
    context.fillStyle = colours.faint;
    for (const { at, x } of ticks) {
      context.fillRect(Math.round(GUTTER + x), AXIS - 5, 1, 4);
      context.fillText(tickLabel(at, step), GUTTER + x + 4, AXIS / 2);
    }
    for (const { from, to } of scale.gaps) {
      const [start, end] = [this.#x(from), this.#x(to)];
      if (end < GUTTER || start > this.#width || end - start < 60) continue;
      context.clearRect(start + 1, 0, end - start - 2, AXIS - 6);
      context.textAlign = "center";
      context.fillText(boardTexts.idle(duration((to - from) / 1000)), (start + end) / 2, AXIS / 2, end - start - 4);
      context.textAlign = "start";
    }
    context.clearRect(0, 0, GUTTER, AXIS - 1);
  }
}
