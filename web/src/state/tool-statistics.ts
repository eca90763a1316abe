/** The calls of the last hour as series for plots, and the changes of breakers. Pure functions. */
import type { BreakerInfo, MinuteInfo } from "../api/tool-wire.ts";
import type { PlotColor, PlotSeries } from "./plot-data.ts";

/** The minutes that the server remembers. */
export const MINUTES = 60;
const SECONDS = 60; // of a minute

/** Categories of errors that always have the same colour. The others share the last ones. */
const COLORS: Readonly<Record<string, PlotColor>> = {
  execution: "bad",
  timeout: "wait",
  transient: "plot-violet",
  validation: "busy",
  permanent: "plot-rose",
  rate_limited: "plot-teal",
  not_found: "plot-olive",
};
const OTHER_COLORS: readonly PlotColor[] = ["ink", "faint", "accent"];

/** The last hour, minute by minute, with those in which no call ended. */
export interface Hour {
  /** The starts of the minutes, in seconds since 1970. */
  readonly times: readonly number[];
  readonly minutes: readonly (MinuteInfo | null)[];
}

/** Fill the minutes without calls. `now` is in milliseconds. */
export function hourOf(minutes: readonly MinuteInfo[], now: number): Hour {
  const starts = minutes.map(({ start }) => Date.parse(start) / 1000);
  const known = starts.filter(Number.isFinite);
  const newest = known.length === 0 ? 0 : Math.max(...known);
  const current = now / 1000;
  // the server's minutes begin at any second, but all at the same one
  const last = known.length === 0 ? current : newest + Math.max(0, Math.floor((current - newest) / SECONDS)) * SECONDS;
  const first = last - (MINUTES - 1) * SECONDS;
  const filled: (MinuteInfo | null)[] = Array<null>(MINUTES).fill(null);
  minutes.forEach((minute, at) => {
    const place = Math.round(((starts[at] ?? NaN) - first) / SECONDS);
    if (place >= 0 && place < MINUTES) filled[place] = minute;
  });
  return { times: filled.map((_, at) => first + at * SECONDS), minutes: filled };
}

/** The outcomes of the calls: succeeded, failed, cancelled. */
export function outcomeSeries(
  { minutes }: Hour,
  labels: Readonly<Record<"succeeded" | "failed" | "cancelled", string>>,
): PlotSeries[] {
  const failed = minutes.map((minute) => (minute === null ? 0 : sum(minute.failures)));
  const cancelled = minutes.map((minute) => minute?.cancellations ?? 0);
  const succeeded = minutes.map((minute, at) =>
    Math.max(0, (minute?.calls ?? 0) - (failed[at] ?? 0) - (cancelled[at] ?? 0)),
  );
  return [
    { label: labels.succeeded, values: succeeded, color: "good" },
    { label: labels.failed, values: failed, color: "bad" },
    { label: labels.cancelled, values: cancelled, color: "faint" },
  ];
}

/** The failures by category, the most frequent first. */
export function failureSeries({ minutes }: Hour): PlotSeries[] {
  const totals = new Map<string, number>();
  for (const minute of minutes) {
    for (const [category, count] of Object.entries(minute?.failures ?? {})) {
      totals.set(category, (totals.get(category) ?? 0) + count);
    }
  }
  const others = [...totals.keys()].filter((category) => COLORS[category] === undefined).sort();
  return [...totals]
    .sort(([, one], [, other]) => other - one)
    .map(([category]) => ({
      label: category.replaceAll("_", " "),
      values: minutes.map((minute) => minute?.failures[category] ?? 0),
      color: COLORS[category] ?? OTHER_COLORS[others.indexOf(category) % OTHER_COLORS.length] ?? "ink",
    }));
}

/** How long the calls took: the median and the slow ones, in seconds. */
export function latencySeries({ minutes }: Hour): PlotSeries[] {
  const quantiles: ["p50" | "p95" | "p99", PlotColor][] = [
    ["p50", "plot-teal"],
    ["p95", "busy"],
    ["p99", "plot-violet"],
  ];
  return quantiles.map(([name, color]) => ({
    label: name,
    values: minutes.map((minute) => minute?.[name] ?? null),
    color,
  }));
}

/** A change of a breaker that the page has seen. */
export interface BreakerChange {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly scope: string;
  readonly target: string | null;
  readonly from: string;
  readonly to: string;
}

const MAX_CHANGES = 50;

/** Add the changes between two states of a tool's breakers. A breaker that is not listed is closed. */
export function addBreakerChanges(
  changes: readonly BreakerChange[],
  before: readonly BreakerInfo[],
  after: readonly BreakerInfo[],
  at: number,
): readonly BreakerChange[] {
  const keyOf = ({ scope, target }: BreakerInfo) => JSON.stringify([scope, target]);
  const old = new Map(before.map((each) => [keyOf(each), each]));
  const now = new Map(after.map((each) => [keyOf(each), each]));
  const fresh = [...new Map([...old, ...now])].flatMap(([key, { scope, target }]) => {
    const [from, to] = [old.get(key)?.state ?? "closed", now.get(key)?.state ?? "closed"];
    return from === to ? [] : [{ at, scope, target, from, to }];
  });
  return fresh.length === 0 ? changes : [...fresh, ...changes].slice(0, MAX_CHANGES);
}

const sum = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((total, each) => total + each, 0);
