/**
 * Wait for work, but no longer than until a signal aborts: then reject with the signal's reason.
 *
 * Work that ignores the signal continues by itself, and its outcome is discarded.
 */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
