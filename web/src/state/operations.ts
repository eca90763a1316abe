/** The numbers of operations over time: a bounded window of samples, rates from counters, and series for plots. */
import type { UsageInfo } from "../api/wire.ts";
import type { PlotColor, PlotSeries } from "./plot-data.ts";

export type Counts = Readonly<Record<string, number>>;

/** The numbers of the process, which only operators see. */
export interface ProcessInfo {
  readonly version: string;
  readonly python: string;
  readonly started_at: string;
  readonly sessions: number;
  readonly readers: number;
  readonly executions: Counts;
  readonly queued: number;
  readonly waiting: number;
  readonly calls: {
    readonly calls: number;
    readonly failures: Counts;
    readonly cancellations: number;
    readonly retries: number;
  };
  readonly turns: { readonly running: number; readonly ended: Counts; readonly usage: UsageInfo };
  readonly store: {
    readonly kind: string;
    readonly available: boolean;
    readonly commits: number;
    readonly commit_seconds: number;
    readonly commit_failures: number;
    readonly changes: Counts;
  };
  readonly limits: Counts;
  readonly kept_bytes: number;
}

/** The response of `/api/operations`. */
export interface OperationsInfo {
  readonly at: string;
  readonly is_operator: boolean;
  readonly user: {
    readonly sessions: number;
    readonly running: number;
    readonly queued: number;
    readonly waiting: number;
  };
  readonly process: ProcessInfo | null;
}

/** The calls that ended in a minute. */
export interface MinuteInfo {
  readonly start: string;
  readonly calls: number;
  readonly failures: Counts;
  readonly cancellations: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** The numbers at a moment. Rates are per second since the sample before; null for the first. */
export interface Sample {
  readonly time: number;
  readonly callRate: number | null;
  readonly failureRate: number | null;
  readonly turnRate: number | null;
  /** The mean duration of a commit in seconds; null without a commit. */
  readonly commitSeconds: number | null;
  readonly running: number;
  readonly queued: number;
  readonly waiting: number;
  readonly turns: number;
}

/** Samples that are kept: fifteen minutes of one every three seconds. */
export const WINDOW = 300;

const FAILURE_COLORS: readonly PlotColor[] = ["bad", "wait", "plot-violet", "plot-teal", "plot-rose", "plot-olive"];

export const total = (counts: Counts): number => Object.values(counts).reduce((sum, each) => sum + each, 0);

/** Samples of one process. They begin again when the process is another one, because counters start from zero. */
export class SampleWindow {
  samples: readonly Sample[] = [];
  readonly #most: number;
  #before: OperationsInfo | null = null;

  constructor(most = WINDOW) {
    this.#most = most;
  }

  /** Add what the server reports. A report that is not newer than the last one is ignored. */
  add(info: OperationsInfo): void {
    const { process } = info;
    if (process === null) return;
    let before = this.#before;
    if (before?.process && before.process.started_at !== process.started_at) {
      before = null;
      this.samples = [];
    }
    const time = Date.parse(info.at) / 1000;
    if (before !== null && time <= Date.parse(before.at) / 1000) return;
    this.samples = [...this.samples, sampleOf(info.process as ProcessInfo, time, before)].slice(-this.#most);
    this.#before = info;
  }

  /** The newest sample; undefined before the first. */
  get newest(): Sample | undefined {
    return this.samples.at(-1);
  }

  get times(): number[] {
    return this.samples.map(({ time }) => time);
  }

  /** The values of a field over time. */
  values(name: keyof Sample): (number | null)[] {
    return this.samples.map((sample) => sample[name]);
  }
}

function sampleOf(process: ProcessInfo, time: number, before: OperationsInfo | null): Sample {
  const earlier = before?.process ?? null;
  const seconds = before === null ? 0 : time - Date.parse(before.at) / 1000;
  const rate = (now: number, then: number | undefined) =>
    then === undefined || seconds <= 0 ? null : Math.max(0, now - then) / seconds;
  const commits = earlier === null ? 0 : process.store.commits - earlier.store.commits;
  const spent = earlier === null ? 0 : process.store.commit_seconds - earlier.store.commit_seconds;
  return {
    time,
    callRate: rate(process.calls.calls, earlier?.calls.calls),
    failureRate: rate(total(process.calls.failures), earlier === null ? undefined : total(earlier.calls.failures)),
    turnRate: rate(total(process.turns.ended), earlier === null ? undefined : total(earlier.turns.ended)),
    commitSeconds: commits > 0 ? Math.max(0, spent) / commits : null,
    running: total(process.executions) - process.queued - process.waiting,
    queued: process.queued,
    waiting: process.waiting,
    turns: process.turns.running,
  };
}

/** The sixty minutes of the last hour without gaps: a minute without calls has none. */
export function wholeHour(minutes: readonly MinuteInfo[], now: number): MinuteInfo[] {
  const known = new Map(minutes.map((each) => [Math.round(Date.parse(each.start) / 60_000), each]));
  const last = Math.max(Math.floor(now / 60_000), ...known.keys());
  const first = last - 59;
  return Array.from({ length: 60 }, (_, at) => known.get(first + at) ?? idleMinute(first + at));
}

function idleMinute(number: number): MinuteInfo {
  const start = new Date(number * 60_000).toISOString();
  return { start, calls: 0, failures: {}, cancellations: 0, p50: null, p95: null, p99: null };
}

/** The series of failures by category, the most frequent first. Rare ones beyond the colours are joined. */
export function failureSeries(minutes: readonly MinuteInfo[], others: string): PlotSeries[] {
  const sums: Record<string, number> = {};
  for (const { failures } of minutes) {
    for (const [category, count] of Object.entries(failures)) sums[category] = (sums[category] ?? 0) + count;
  }
  const ordered = Object.keys(sums).sort((one, other) => (sums[other] ?? 0) - (sums[one] ?? 0));
  const own = ordered.length <= FAILURE_COLORS.length ? ordered : ordered.slice(0, FAILURE_COLORS.length - 1);
  const rest = ordered.slice(own.length);
  const series = own.map((category, at): PlotSeries => {
    const values = minutes.map(({ failures }) => failures[category] ?? 0);
    return { label: category, values, color: FAILURE_COLORS[at] ?? "faint" };
  });
  if (rest.length === 0) return series;
  const values = minutes.map(({ failures }) => rest.reduce((sum, category) => sum + (failures[category] ?? 0), 0));
  return [...series, { label: others, values, color: "faint" }];
}
