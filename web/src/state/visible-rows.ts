/** The part of a long list that is drawn. All rows have the same height. */

/** Rows that are drawn above and below the visible part, so that scrolling shows no gap. */
const MARGIN = 8;

/** The visible part of a list, in pixels. */
export interface Viewport {
  readonly top: number;
  readonly height: number;
}

/** The rows to draw, in order: those in the visible part and near it, and those that are always kept. */
export function visibleRows(
  count: number,
  rowHeight: number,
  { top, height }: Viewport,
  kept: readonly number[] = [],
): number[] {
  const first = Math.max(0, Math.floor(top / rowHeight) - MARGIN);
  const end = Math.min(count, Math.ceil((top + height) / rowHeight) + MARGIN);
  const rows = Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
  const others = kept.filter((row) => row >= 0 && row < count && (row < first || row >= end));
  return [...new Set([...rows, ...others])].sort((one, other) => one - other);
}

/** The smallest scroll that makes a row visible. */
export function scrollToRow(row: number, rowHeight: number, { top, height }: Viewport): number {
  const start = row * rowHeight;
  if (start < top) return start;
  return start + rowHeight > top + height ? start + rowHeight - height : top;
}
