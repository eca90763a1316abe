/**
 * The spans of the timeline: turns, calls with their attempts, and requests to people.
 *
 * Events may be added in any order of pages: new ones at the end, older ones at the beginning. Each track keeps the events
 * that change its phase (`steps`) apart from those that only mark its way (`ticks`), of which there may be very many.
 */
import { TURN_ENDS } from "../api/turn-kinds.ts";
import { Deque } from "./deque.ts";
import type { Entry, Lane } from "./board-entry.ts";

/** What a track does in a part of its time. `pause` is the time between two attempts. */
export type Phase = "queue" | "work" | "person" | "pause";

export interface Segment {
  readonly phase: Phase;
  readonly from: number;
  /** Null while it lasts. */
  readonly to: number | null;
  /** The number of the attempt, for work. */
  readonly attempt: number;
  readonly failed: boolean;
}

export interface Track {
  readonly lane: Lane;
  readonly id: string;
  readonly steps: Deque<Entry>;
  readonly ticks: Deque<Entry>;
  label: string;
  /** Its row in the lane. */
  row: number;
  /** Computed when they are needed. */
  segments: readonly Segment[] | null;
}

/** A request to a person. Its answer may be known before the request is. */
interface RequestTrack extends Track {
  call: string;
}

const PHASE_STEPS = /^(tool_(started|executing|retrying|result)|human_request|wallet_tx_request|turn_)/;
const REQUEST = /^(human_|wallet_tx_|user_re)/;

export class BoardTracks {
  readonly turns = new Map<string, Track>();
  readonly calls = new Map<string, Track>();
  readonly requests = new Map<string, RequestTrack>();
  /** The single events of the lanes: of people without a request, and of the system. */
  readonly points: Readonly<Record<"people" | "system", Deque<Entry>>> = { people: new Deque(), system: new Deque() };

  /** Add the next newer event, or the next older one. */
  add(entry: Entry, isOlder = false): void {
    const put = (deque: Deque<Entry>) => (isOlder ? deque.addOldest(entry) : deque.addNewest(entry));
    if (entry.request !== "" && REQUEST.test(entry.kind)) {
      const request = this.#track(this.requests, "people", entry.request, entry.tool) as RequestTrack;
      put(request.steps);
      request.segments = null;
      if (entry.call !== "") request.call = entry.call;
      const call = this.calls.get(request.call ?? "");
      if (call) call.segments = null;
    } else if (entry.lane === "people" || entry.lane === "system") put(this.points[entry.lane]);
    if (entry.call !== "") this.#step(this.#track(this.calls, "calls", entry.call, entry.tool), entry, put);
    if (entry.turn !== "" && entry.lane === "turns")
      this.#step(this.#track(this.turns, "turns", entry.turn, ""), entry, put);
  }

  /** Forget the events before a number. */
  dropBefore(seq: number): void {
    const isOld = (entry: Entry) => entry.seq < seq;
    for (const tracks of [this.turns, this.calls, this.requests] as Map<string, Track>[]) {
      for (const [id, track] of tracks) {
        for (const entries of [track.steps, track.ticks]) entries.dropOldest(entries.search(isOld));
        if (track.steps.length + track.ticks.length === 0) tracks.delete(id);
        else track.segments = null;
      }
    }
    for (const points of Object.values(this.points)) points.dropOldest(points.search(isOld));
  }

  /** The parts of a track in the order of time. */
  segments(track: Track): readonly Segment[] {
    return (track.segments ??=
      track.lane === "people" ? requestSegments(track) : segmentsOf(track, (id) => this.#answeredAt(id)));
  }

  /** The newest event of a track at or before a time, or its first. */
  entryAt({ steps, ticks }: Track, at: number): Entry | null {
    const found = [steps, ticks].map((entries) => entries.at(entries.search((entry) => entry.at <= at) - 1));
    const newest = found.filter((entry) => entry !== undefined).sort((one, other) => other.seq - one.seq)[0];
    return newest ?? steps.first ?? ticks.first ?? null;
  }

  /** All events of the call or turn that an event belongs to, oldest first. */
  entriesOf(entry: Entry): readonly Entry[] {
    const callId = entry.call || this.requests.get(entry.request)?.call || "";
    const call = this.calls.get(callId);
    const track = call ?? this.turns.get(entry.turn) ?? this.requests.get(entry.request);
    if (track === undefined) return [entry];
    const asked = call === undefined ? [] : [...call.steps].filter(({ request }) => request !== "");
    const answers = asked.flatMap(({ request }) => [...(this.requests.get(request)?.steps ?? [])].slice(1));
    return [...track.steps, ...track.ticks, ...answers].sort((one, other) => one.seq - other.seq);
  }

  #answeredAt(requestId: string): number | null {
    const last = this.requests.get(requestId)?.steps.last;
    return last !== undefined && !last.kind.endsWith("_request") ? last.at : null;
  }

  #track<T extends Track>(tracks: Map<string, T>, lane: Lane, id: string, label: string): T {
    let track = tracks.get(id);
    if (track === undefined) {
      const made: Track & { call: string } = {
        lane,
        id,
        steps: new Deque(),
        ticks: new Deque(),
        label,
        row: 0,
        segments: null,
        call: "",
      };
      track = made as unknown as T;
      tracks.set(id, track);
    }
    if (track.label === "") track.label = label;
    return track;
  }

  #step(track: Track, entry: Entry, put: (deque: Deque<Entry>) => void): void {
    const isStep = PHASE_STEPS.test(entry.kind);
    // the first event of a track is its start, as long as no earlier one is known
    if (isStep || track.steps.length === 0) track.segments = null;
    put(isStep ? track.steps : track.ticks);
  }
}

function requestSegments({ steps }: Track): readonly Segment[] {
  const [first, last] = [steps.first, steps.last];
  if (first === undefined || last === undefined) return [];
  const isOpen = last.kind.endsWith("_request");
  return [{ phase: "person", from: first.at, to: isOpen ? null : last.at, attempt: 0, failed: last.failed }];
}

/** The segments of a turn or a call, from the events that change its phase. */
function segmentsOf(track: Track, answeredAt: (requestId: string) => number | null): readonly Segment[] {
  const made: Segment[] = [];
  const start = track.steps.first ?? track.ticks.first;
  if (start === undefined) return made;
  let phase: Phase = start.kind === "tool_started" ? "queue" : "work";
  let [from, attempt] = [start.at, start.attempt];
  const close = (to: number | null, failed = false) => {
    if (to === null || to > from || phase === "work") made.push({ phase, from, to, attempt, failed });
    if (to !== null) from = Math.max(from, to);
  };
  for (const entry of track.steps) {
    if (entry === start && entry.kind === "tool_started") continue;
    switch (entry.kind) {
      case "tool_executing":
      case "turn_started":
        if (entry !== start) close(entry.at);
        [phase, attempt] = ["work", entry.attempt];
        break;
      case "tool_retrying":
        attempt = entry.attempt;
        close(entry.at, true);
        phase = "pause";
        break;
      case "human_request":
      case "wallet_tx_request": {
        close(entry.at);
        const before: Phase = phase;
        phase = "person";
        const answered = answeredAt(entry.request);
        if (answered === null) continue;
        close(answered);
        phase = before;
        break;
      }
      case "turn_paused":
        close(entry.at);
        phase = "person";
        break;
      default:
        if (entry.kind !== "tool_result" && !TURN_ENDS.has(entry.kind)) continue;
        close(entry.at, entry.failed);
        return made.length > 0 ? made : [{ phase, from, to: entry.at, attempt, failed: entry.failed }];
    }
  }
  close(null);
  return made;
}

/** The time of a track: its start, and its end or null while it lasts. */
export function extent(segments: readonly Segment[]): { from: number; to: number | null } {
  return { from: segments[0]?.from ?? 0, to: segments.at(-1)?.to ?? null };
}
