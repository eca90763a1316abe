/** The clock port, so that tests control time instead of waiting. Times are in milliseconds. */
export interface Clock {
  /** Return the time since the epoch, for records. It may jump when the clock of the device is set. */
  time(): number;
  /** Return the time since an arbitrary start, never decreasing, for durations and deadlines. */
  monotonic(): number;
  /** Call back after a delay of `monotonic`. */
  callLater(delay: number, callback: () => void): Timer;
}

/** A scheduled callback that can be cancelled. */
export interface Timer {
  cancel(): void;
}

/** The longest delay of `setTimeout`, about 25 days. A longer one would fire at once. */
const MAX_DELAY = 2 ** 31 - 1;

/** The clock of the device. */
export const systemClock: Clock = {
  time: () => Date.now(),
  monotonic: () => performance.now(),
  callLater(delay, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(delay, 0), MAX_DELAY));
    return { cancel: () => clearTimeout(timer) };
  },
};
