/** The places of tracks on the timeline: rows in which no two overlap, and the times in which nothing happens. */
import { type Lane, LANES } from "./board-entry.ts";
import { type BoardTracks, extent, type Segment, type Track } from "./board-tracks.ts";
import type { Gap } from "./time-scale.ts";

export interface Layout {
  /** The rows of each lane. The tracks of a row are in the order of time. */
  readonly rows: Readonly<Record<Lane, readonly (readonly Track[])[]>>;
  readonly from: number;
  readonly to: number;
  /** The times in which nothing happens. */
  readonly gaps: readonly Gap[];
}

export const MAX_ROWS = 40; // rows of a lane; more tracks at once share the last one
const IDLE = 10_000; // milliseconds without an event after which a time is idle

/** Lay out tracks of a time. `isShown` leaves tracks out. */
export function layOut(
  tracks: BoardTracks,
  { from, to }: { from: number; to: number },
  isShown: (track: Track) => boolean = () => true,
): Layout {
  const all = {
    turns: sorted(tracks, tracks.turns),
    calls: sorted(tracks, tracks.calls),
    people: sorted(tracks, tracks.requests),
  };
  const times: [number, number][] = [
    [from, from],
    [to, to],
  ];
  for (const { track } of [...all.turns, ...all.calls]) addBusyTimes(times, tracks.segments(track), to);
  for (const { from: asked, to: answered } of all.people)
    times.push([asked, asked], [answered ?? asked, answered ?? asked]);
  for (const points of Object.values(tracks.points)) for (const { at } of points) times.push([at, at]);
  const gaps = idleGaps(times);
  const rows = Object.fromEntries(
    LANES.map((lane) => [lane, lane === "system" ? [[]] : pack(all[lane].filter(({ track }) => isShown(track)))]),
  ) as unknown as Layout["rows"];
  return { rows, from, to, gaps };
}

interface Placed {
  readonly track: Track;
  readonly from: number;
  readonly to: number | null;
}

function sorted(tracks: BoardTracks, map: ReadonlyMap<string, Track>): Placed[] {
  const placed = Array.from(map.values(), (track) => ({ track, ...extent(tracks.segments(track)) }));
  return placed.sort((one, other) => one.from - other.from);
}

/** Put each track into the first row that is free at its start. */
function pack(placed: readonly Placed[]): Track[][] {
  const rows: Track[][] = [];
  const ends: number[] = [];
  for (const { track, from, to } of placed) {
    let row = ends.findIndex((end) => end <= from);
    if (row < 0) row = Math.min(ends.length, MAX_ROWS - 1);
    (rows[row] ??= []).push(track);
    ends[row] = Math.max(ends[row] ?? 0, to ?? Infinity);
    track.row = row;
  }
  return rows.length > 0 ? rows : [[]];
}

/** Add the times in which a track works or is queued to a list. Waiting for a person is no work. */
function addBusyTimes(times: [number, number][], segments: readonly Segment[], end: number): void {
  let last: [number, number] | null = null;
  for (const { phase, from, to } of segments) {
    const until = phase === "person" ? from : (to ?? end);
    if (last !== null && from <= last[1]) last[1] = Math.max(last[1], until);
    else times.push((last = [from, until]));
  }
}

/** The times between all others that are long. */
function idleGaps(times: [number, number][]): Gap[] {
  times.sort((one, other) => one[0] - other[0]);
  const gaps: Gap[] = [];
  let end = Infinity;
  for (const [from, to] of times) {
    if (from - end > IDLE) gaps.push({ from: end, to: from });
    end = end === Infinity ? to : Math.max(end, to);
  }
  return gaps;
}
