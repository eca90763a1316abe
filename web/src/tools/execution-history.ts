/** The executions that can be looked up: all that run, and the newest that have ended. */
import type { LiveExecution } from "./live-execution.ts";

export class ExecutionHistory {
  readonly #limit: number;
  readonly #executions = new Map<string, LiveExecution>();
  /** The ids of those that have ended, in the order of their ends. */
  readonly #ended: string[] = [];

  /** @param limit the most ended executions that are kept */
  constructor(limit: number) {
    this.#limit = limit;
  }

  add(execution: LiveExecution): void {
    this.#executions.set(execution.id, execution);
  }

  get(id: string): LiveExecution | undefined {
    return this.#executions.get(id);
  }

  /** Return all, in the order of their calls. */
  all(): LiveExecution[] {
    return [...this.#executions.values()];
  }

  /** Note that an execution has ended, and drop the oldest ended one if there are too many. */
  noteEnd(execution: LiveExecution): void {
    this.#ended.push(execution.id);
    while (this.#ended.length > this.#limit) {
      const oldest = this.#ended.shift();
      if (oldest !== undefined) this.#executions.delete(oldest);
    }
  }
}
