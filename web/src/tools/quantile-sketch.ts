/**
 * Quantiles of durations in constant memory: counts in buckets whose bounds grow by 2 %, so that every quantile is exact
 * to 1 %. From 1 µs to a day there are about 1,300 buckets, and only those in use exist.
 */
const GROWTH = Math.log(1.02);
const SMALLEST = 0.001;

export class QuantileSketch {
  readonly #counts = new Map<number, number>();
  #total = 0;

  /** Count a value, in milliseconds. */
  add(value: number): void {
    const bucket = Math.ceil(Math.log(Math.max(value, SMALLEST)) / GROWTH);
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1);
    this.#total += 1;
  }

  /** Return the value below which this share of all values lies, from 0 to 1; undefined without values. */
  quantile(share: number): number | undefined {
    let left = Math.max(1, Math.ceil(share * this.#total));
    for (const [bucket, count] of [...this.#counts].sort(([a], [b]) => a - b)) {
      left -= count;
      if (left <= 0) return Math.exp((bucket - 0.5) * GROWTH);
    }
    return undefined;
  }
}
