import type { ReactiveController, ReactiveControllerHost } from "lit";
import { GUTTER } from "./lane-painter.ts";

const MOVED = 4; // pixels after which a press is a drag
const EDGE = 8; // pixels around an edge of the window in the overview

/** The element whose lanes are dragged. */
interface Draggable extends ReactiveControllerHost, HTMLElement {
  readonly brushed: { from: number; to: number };
  pan(share: number): void;
  brush(from: number, to: number): void;
}

/** Moves the lanes with the pointer, and the window in the overview: its edges, all of it, or a new one. */
export class DragController implements ReactiveController {
  isDragging = false;
  /** Whether the last press was a drag, so that its click does not count. */
  hasMoved = false;
  readonly #host: Draggable;

  constructor(host: Draggable) {
    this.#host = host;
    host.addController(this);
  }

  hostConnected(): void {
    this.#host.addEventListener("pointerdown", this.#onDown);
  }

  hostDisconnected(): void {
    this.#host.removeEventListener("pointerdown", this.#onDown);
  }

  readonly #onDown = (event: PointerEvent) => {
    const canvas = event.target;
    this.hasMoved = false;
    if (!(canvas instanceof HTMLCanvasElement) || event.button !== 0) return;
    const move = canvas.id === "overview" ? this.#brushing(event, canvas) : this.#panning(event, canvas);
    canvas.setPointerCapture(event.pointerId);
    const onMove = (moved: PointerEvent) => {
      if (!this.hasMoved && Math.abs(moved.clientX - event.clientX) < MOVED) return;
      this.isDragging = this.hasMoved = true;
      move(moved);
    };
    const end = new AbortController();
    const onUp = () => {
      this.isDragging = false;
      end.abort();
    };
    canvas.addEventListener("pointermove", onMove, { signal: end.signal });
    canvas.addEventListener("pointerup", onUp, { signal: end.signal });
    canvas.addEventListener("pointercancel", onUp, { signal: end.signal });
  };

  #panning(event: PointerEvent, canvas: HTMLCanvasElement): (moved: PointerEvent) => void {
    let before = event.clientX;
    return ({ clientX }) => {
      this.#host.pan((before - clientX) / (canvas.clientWidth - GUTTER));
      before = clientX;
    };
  }

  #brushing(event: PointerEvent, canvas: HTMLCanvasElement): (moved: PointerEvent) => void {
    const frame = canvas.getBoundingClientRect();
    const place = (x: number) => Math.max(0, Math.min(1, (x - frame.left) / frame.width));
    const { from, to } = this.#host.brushed;
    const start = place(event.clientX);
    const near = (edge: number) => Math.abs(edge - start) * frame.width <= EDGE;
    const isAll = to - from > 0.99;
    if (near(from) && !isAll) return ({ clientX }) => this.#between(place(clientX), to);
    if (near(to) && !isAll) return ({ clientX }) => this.#between(from, place(clientX));
    if (start > from && start < to && !isAll)
      return ({ clientX }) => {
        const shift = Math.max(-from, Math.min(1 - to, place(clientX) - start));
        this.#host.brush(from + shift, to + shift);
      };
    return ({ clientX }) => this.#between(start, place(clientX));
  }

  #between(one: number, other: number): void {
    this.#host.brush(Math.min(one, other), Math.max(one, other));
  }
}
