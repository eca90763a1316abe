/** The data of a plot in the order in which it is drawn, and the labels of its axes. Pure functions. */

/** How the series of a plot are drawn. Stacked series are bars upon each other. */
export type PlotKind = "lines" | "bars" | "stacked";

/** A colour of the theme, or of the plot's own palette, by the name of its custom property without the dashes. */
export type PlotColor =
  | "accent"
  | "good"
  | "busy"
  | "wait"
  | "bad"
  | "faint"
  | "ink"
  | "plot-violet"
  | "plot-teal"
  | "plot-rose"
  | "plot-olive";

export interface PlotSeries {
  readonly label: string;
  /** One value for each time. Null where there is none. */
  readonly values: readonly (number | null)[];
  readonly color: PlotColor;
}

/** A series as it is drawn: a column of the data, and the position of the series that it shows. */
export interface DrawnSeries {
  readonly position: number;
  readonly values: (number | null)[];
}

/** Whether a plot has nothing to draw. */
export function isEmptyPlot(times: readonly number[], series: readonly PlotSeries[]): boolean {
  return times.length === 0 || series.every(({ values }) => values.every((value) => clean(value) === null));
}

/**
 * The series in the order in which they are drawn. Stacked bars all start at zero, so the highest sum is drawn first
 * and each lower sum covers its part of it.
 */
export function drawnSeries(times: readonly number[], series: readonly PlotSeries[], kind: PlotKind): DrawnSeries[] {
  const columns = series.map(({ values }) => times.map((_, at) => clean(values[at])));
  if (kind !== "stacked") return columns.map((values, position) => ({ position, values }));
  const sums = times.map(() => 0);
  const stacked = columns.map((values, position) => ({
    position,
    values: values.map((value, at) => (sums[at] = (sums[at] ?? 0) + (value ?? 0))),
  }));
  return stacked.reverse();
}

/** The range of an axis that starts at zero and leaves some space above the highest value. */
export function rangeFromZero(highest: number | null, isWhole = false): [number, number] {
  if (highest === null || !Number.isFinite(highest) || highest <= 0) return [0, 1];
  const top = highest * 1.1;
  return [0, isWhole ? Math.max(Math.ceil(top), 2) : top];
}

/** The range of the axis of times: half a step wider for bars, so that the first and the last are drawn whole. */
export function timeRange(first: number, last: number, times: readonly number[], kind: PlotKind): [number, number] {
  if (times.length === 1) last = first; // for a single moment, uPlot proposes years
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? 0));
  const step = gaps.length === 0 ? 60 : Math.min(...gaps.filter((gap) => gap > 0), last - first || 60);
  const space = kind !== "lines" || first === last ? step / 2 : 0;
  return [first - space, last + space];
}

/** The positions of values without a neighbour. */
export function isolated(values: readonly (number | null)[]): number[] {
  const has = (at: number) => values[at] !== null && values[at] !== undefined;
  return [...values.keys()].filter((at) => has(at) && !has(at - 1) && !has(at + 1));
}

/** Labels for moments in seconds: the time of day, with the date if they span more than a day. */
export function timeLabels(moments: readonly number[], locale?: string, timeZone?: string): string[] {
  const [first = 0, last = 0] = [moments[0], moments.at(-1)];
  const span = last - first;
  const clock: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const date: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
  const seconds: Intl.DateTimeFormatOptions = span < 60 ? { second: "2-digit" } : {};
  const parts = span >= 7 * 86_400 ? date : span >= 86_400 ? { ...date, ...clock } : { ...clock, ...seconds };
  const format = new Intl.DateTimeFormat(locale, { ...parts, ...(timeZone === undefined ? {} : { timeZone }) });
  return moments.map((moment) => format.format(moment * 1000));
}

/** A value that can be drawn, or null. */
function clean(value: number | null | undefined): number | null {
  return value === null || value === undefined || !Number.isFinite(value) ? null : value;
}
