/** The text beside the pointer: what is there, and when. */
import { duration } from "../../format.ts";
import type { Entry } from "../../state/board-entry.ts";
import type { Segment, Track } from "../../state/board-tracks.ts";
import { sinceStart, tickLabel } from "../../state/time-scale.ts";
import { boardTexts } from "../../texts/board.ts";

const LINES = 8; // parts of a call that are listed

/** A time of day, and the time since the start of the board. */
export function timeText(at: number, start: number): string {
  return `${tickLabel(at, 1)}  ${sinceStart(at - start)}`;
}

export function describeEntry({ kind, text, at }: Entry, start: number): string {
  return [boardTexts.event(kind) || kind, text, timeText(at, start)].filter(Boolean).join("\n");
}

/** Describe a track with its segments. `end` is the end of those that last. */
export function describeTrack({ label }: Track, segments: readonly Segment[], end: number): string {
  const lines = segments.map(({ phase, from, to, attempt, failed }) => {
    const name = phase === "work" && attempt > 0 ? boardTexts.attempt(attempt) : boardTexts.phases[phase];
    return `${name}${failed ? ` · ${boardTexts.outcomes.failed}` : ""} · ${duration(((to ?? end) - from) / 1000)}`;
  });
  return [label || boardTexts.turn, ...(lines.length > LINES ? [...lines.slice(0, LINES - 1), "…"] : lines)].join("\n");
}

/** Show a text beside the pointer, within a frame. An empty text hides it. */
export function placeTip(
  tip: HTMLElement,
  text: string,
  frame: DOMRect,
  pointer: { clientX: number; clientY: number },
): void {
  tip.hidden = text === "";
  tip.textContent = text;
  const x = pointer.clientX - frame.left;
  const isLeft = x > frame.width - 280; // there is more room before the pointer
  const y = pointer.clientY - frame.top + 16;
  tip.style.transform = `translate(${x + (isLeft ? -14 : 14)}px, ${y}px)${isLeft ? " translateX(-100%)" : ""}`;
}
