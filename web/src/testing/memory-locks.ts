/** Locks as tabs of one browser share them. */
import type { Locks } from "../wallet/exclusive-lock.ts";

export function memoryLocks(): Locks {
  const queues = new Map<string, Promise<unknown>[]>();
  const request = async (name: string, options: LockOptions, granted: (lock: Lock | null) => unknown) => {
    const queue = queues.get(name) ?? [];
    queues.set(name, queue);
    if (options.ifAvailable === true && queue.length > 0) return granted(null);
    const before = queue.at(-1);
    let done = () => {};
    const turn = new Promise<void>((resolve) => (done = resolve));
    queue.push(turn);
    const leave = () => {
      queue.splice(queue.indexOf(turn), 1);
      done();
    };
    try {
      if (before !== undefined) {
        const aborted = new Promise<never>((_, reject) =>
          options.signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError"))),
        );
        await Promise.race([before, aborted]);
      }
      return await granted({ name, mode: "exclusive" });
    } finally {
      leave();
    }
  };
  return { request: request as Locks["request"] };
}
