/**
 * The horizontal scale of the timeline. Idle times can be shortened, so that a conversation of days still shows its calls.
 *
 * Times are milliseconds since 1970. A window is a range of times; where idle times are shortened, zooming and moving it
 * is done on the shortened scale.
 */

/** A time in which nothing happens. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

export interface Tick {
  readonly at: number;
  readonly x: number;
}

const SHORTENED = 1_000; // milliseconds that a shortened gap takes on the scale
const MIN_SPAN = 2; // milliseconds of the closest zoom
const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 28, 91, 364].map((days) => days * DAY),
];

export class TimeScale {
  readonly gaps: readonly Gap[];
  readonly #removed: readonly number[]; // milliseconds that the gaps before each gap remove

  constructor(gaps: readonly Gap[] = []) {
    this.gaps = gaps.filter(({ from, to }) => to - from > SHORTENED);
    let total = 0;
    this.#removed = this.gaps.map(({ from, to }) => {
      const before = total;
      total += to - from - SHORTENED;
      return before;
    });
  }

  /** The position of a time on the scale, in milliseconds without the idle times. */
  position(at: number): number {
    const index = this.#search(({ from }) => from <= at);
    const gap = this.gaps[index];
    if (gap === undefined) return at;
    const before = gap.from - (this.#removed[index] ?? 0);
    if (at >= gap.to) return before + SHORTENED + (at - gap.to);
    return before + ((at - gap.from) / (gap.to - gap.from)) * SHORTENED;
  }

  /** The time at a position: the inverse of `position`. */
  time(position: number): number {
    const index = this.#search(({ from }, each) => from - (this.#removed[each] ?? 0) <= position);
    const gap = this.gaps[index];
    if (gap === undefined) return position;
    const after = position - (gap.from - (this.#removed[index] ?? 0));
    if (after >= SHORTENED) return gap.to + (after - SHORTENED);
    return gap.from + (after / SHORTENED) * (gap.to - gap.from);
  }

  /** The gap that contains a time. */
  gapAt(at: number): Gap | null {
    const gap = this.gaps[this.#search(({ from }) => from < at)];
    return gap !== undefined && at < gap.to ? gap : null;
  }

  /** Make the function that places times of a window on a width in pixels. */
  project(window: TimeWindow, width: number): (at: number) => number {
    const from = this.position(window.from);
    const scale = width / Math.max(this.position(window.to) - from, Number.EPSILON);
    if (this.gaps.length === 0) return (at) => (at - from) * scale;
    return (at) => (this.position(at) - from) * scale;
  }

  /** The time at a place of a window: 0 is its start, 1 its end. */
  timeAt(window: TimeWindow, place: number): number {
    const [from, to] = [this.position(window.from), this.position(window.to)];
    return this.time(from + place * (to - from));
  }

  /** Zoom by a factor (2 shows half the time) around a place of the window, within `bounds`. */
  zoom(window: TimeWindow, factor: number, place: number, bounds: TimeWindow): TimeWindow {
    const [from, to] = [this.position(window.from), this.position(window.to)];
    const span = Math.max(MIN_SPAN, (to - from) / factor);
    const fixed = from + place * (to - from);
    return this.#within(fixed - place * span, span, bounds);
  }

  /** Move a window by a share of its width, within `bounds`. */
  pan(window: TimeWindow, share: number, bounds: TimeWindow): TimeWindow {
    const [from, to] = [this.position(window.from), this.position(window.to)];
    return this.#within(from + share * (to - from), to - from, bounds);
  }

  /** Move a window so that it ends with the bounds. */
  toEnd(window: TimeWindow, bounds: TimeWindow): TimeWindow {
    const span = this.position(window.to) - this.position(window.from);
    return this.#within(this.position(bounds.to) - span, span, bounds);
  }

  /** Times for labels, at least some pixels apart. Gaps that are longer than the time between two have none. */
  ticks(window: TimeWindow, width: number, distance: number): Tick[] {
    const span = this.position(window.to) - this.position(window.from);
    const step = STEPS.find((each) => (each / span) * width >= distance) ?? STEPS.at(-1) ?? DAY;
    const offset = step < HOUR ? 0 : new Date(window.from).getTimezoneOffset() * MINUTE;
    const x = this.project(window, width);
    const ticks: Tick[] = [];
    let at = Math.ceil((window.from - offset) / step) * step + offset;
    let free = -Infinity;
    for (; at <= window.to; at += step) {
      for (let gap = this.gapAt(at); gap !== null && gap.to - gap.from > step; gap = this.gapAt(at))
        at = Math.ceil((gap.to - offset) / step) * step + offset;
      const place = x(at);
      if (place < free || at > window.to) continue;
      ticks.push({ at, x: place });
      free = place + distance * 0.9;
    }
    return ticks;
  }

  #within(start: number, span: number, bounds: TimeWindow): TimeWindow {
    const [low, high] = [this.position(bounds.from), this.position(bounds.to)];
    const width = Math.min(span, Math.max(high - low, MIN_SPAN));
    const from = Math.max(low, Math.min(start, high - width));
    return { from: this.time(from), to: this.time(from + width) };
  }

  /** The last gap for which a condition holds, which holds for those up to it. -1 if there is none. */
  #search(holds: (gap: Gap, index: number) => boolean): number {
    let [low, high] = [0, this.gaps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(this.gaps[middle] as Gap, middle)) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

const two = (number: number, digits = 2) => String(number).padStart(digits, "0");

/** The time of day, as exact as a step needs. Days are named where a step is a day or more. */
export function tickLabel(at: number, step: number): string {
  const date = new Date(at);
  if (step >= DAY) return date.toLocaleDateString(undefined, { day: "numeric", month: "short" });
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (step >= MINUTE) return clock;
  const seconds = `${clock}:${two(date.getSeconds())}`;
  return step >= SECOND ? seconds : `${seconds}.${two(date.getMilliseconds(), 3)}`;
}

/** A time after the start of the board: `+1:02.500`. */
export function sinceStart(milliseconds: number): string {
  const total = Math.max(0, Math.round(milliseconds));
  const [days, hours] = [Math.floor(total / DAY), Math.floor((total % DAY) / HOUR)];
  const minutes = Math.floor((total % HOUR) / MINUTE);
  const seconds = `${two(Math.floor((total % MINUTE) / SECOND))}.${two(total % SECOND, 3)}`;
  if (days > 0) return `+${days}d ${two(hours)}:${two(minutes)}:${seconds.slice(0, 2)}`;
  return hours > 0 ? `+${hours}:${two(minutes)}:${seconds}` : `+${minutes}:${seconds}`;
}
