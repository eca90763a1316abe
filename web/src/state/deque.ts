/**
 * Items in the order of time, which grow at both ends: new ones arrive, and pages of older ones are loaded.
 *
 * Adding at either end and reading by position take constant time, however many items there are.
 */
export class Deque<T> {
  #older: T[] = []; // in reverse: the oldest item is the last
  #newer: T[] = [];

  get length(): number {
    return this.#older.length + this.#newer.length;
  }

  get first(): T | undefined {
    return this.at(0);
  }

  get last(): T | undefined {
    return this.at(this.length - 1);
  }

  /** The item at a position, from 0 for the oldest. */
  at(position: number): T | undefined {
    const older = this.#older.length;
    return position < older ? this.#older[older - 1 - position] : this.#newer[position - older];
  }

  addNewest(item: T): void {
    this.#newer.push(item);
  }

  addOldest(item: T): void {
    this.#older.push(item);
  }

  /** Remove the oldest items. */
  dropOldest(count: number): void {
    const older = Math.min(count, this.#older.length);
    this.#older.length -= older;
    if (count > older) this.#newer.splice(0, count - older);
  }

  /** The position of the first item that is not before what is sought: `isBefore` is true for items up to it. */
  search(isBefore: (item: T) => boolean): number {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(this.at(middle) as T)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let position = 0; position < this.length; position++) yield this.at(position) as T;
  }
}
