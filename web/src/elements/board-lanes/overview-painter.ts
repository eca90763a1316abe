/** Paints the overview of the lanes: the number of events over time, failures, and the window in view. */
import type { Entry } from "../../state/board-entry.ts";
import type { Deque } from "../../state/deque.ts";
import type { TimeScale, TimeWindow } from "../../state/time-scale.ts";
import type { Palette } from "./palette.ts";

/** The number of events and failures per column. */
export interface Density {
  readonly counts: Uint32Array;
  readonly failures: Uint32Array;
}

export function densityOf(entries: Deque<Entry>, scale: TimeScale, bounds: TimeWindow, columns: number): Density {
  const counts = new Uint32Array(columns);
  const failures = new Uint32Array(columns);
  const x = scale.project(bounds, columns);
  for (let index = 0; index < entries.length; index++) {
    const { at, failed } = entries.at(index) as Entry;
    const column = Math.max(0, Math.min(columns - 1, Math.floor(x(at))));
    counts[column] = (counts[column] ?? 0) + 1;
    if (failed) failures[column] = (failures[column] ?? 0) + 1;
  }
  return { counts, failures };
}

/** Paint the overview. `column` is the width of a column in pixels, `from` and `to` the window. */
export function paintOverview(
  context: CanvasRenderingContext2D,
  { counts, failures }: Density,
  { colours }: Palette,
  size: { width: number; height: number; column: number; from: number; to: number },
): void {
  const { width, height, column, from, to } = size;
  context.clearRect(0, 0, width, height);
  let most = 1;
  for (const count of counts) most = Math.max(most, count);
  // the square root keeps quiet times visible beside busy ones
  const tall = (count: number) => (count === 0 ? 0 : Math.max(2, Math.sqrt(count / most) * (height - 6)));
  for (let index = 0; index < counts.length; index++) {
    const count = counts[index] ?? 0;
    if (count === 0) continue;
    const isIn = (index + 1) * column >= from && index * column <= to;
    context.globalAlpha = isIn ? 0.8 : 0.35;
    context.fillStyle = colours.busy;
    context.fillRect(index * column, height - tall(count), Math.max(1, column - 0.5), tall(count));
    const failed = failures[index] ?? 0;
    if (failed > 0) {
      context.globalAlpha = 1;
      context.fillStyle = colours.bad;
      context.fillRect(index * column, height - tall(failed), Math.max(1, column - 0.5), tall(failed));
    }
  }
  context.globalAlpha = 0.12;
  context.fillStyle = colours.focus;
  context.fillRect(from, 0, Math.max(2, to - from), height);
  context.globalAlpha = 1;
  for (const edge of [from, to]) context.fillRect(Math.min(Math.max(edge - 1, 0), width - 2), 0, 2, height);
}
