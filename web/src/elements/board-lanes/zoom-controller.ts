import type { ReactiveController, ReactiveControllerHost } from "lit";
import { GUTTER } from "./lane-painter.ts";

const ZOOM = 1.5; // factor of a key
const PAN = 0.2; // share of the window that a key moves
const WHEEL = 0.003; // zoom of a pixel of the wheel
const LINE = 16; // pixels of a line, for wheels that count lines

/** The element whose lanes are zoomed. */
interface Zoomable extends ReactiveControllerHost, HTMLElement {
  zoom(factor: number, place?: number): void;
  pan(share: number): void;
  fit(): void;
}

/** Zooms and moves the lanes with the wheel and the keyboard. */
export class ZoomController implements ReactiveController {
  readonly #host: Zoomable;

  constructor(host: Zoomable) {
    this.#host = host;
    host.addController(this);
  }

  hostConnected(): void {
    // wheel events that zoom must not scroll, so the listener is not passive
    this.#host.addEventListener("wheel", this.#onWheel, { passive: false });
  }

  hostDisconnected(): void {
    this.#host.removeEventListener("wheel", this.#onWheel);
  }

  /** Handle a key that was pressed on the lanes. */
  readonly onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions: Readonly<Record<string, () => void>> = {
      "+": () => this.#host.zoom(ZOOM),
      "=": () => this.#host.zoom(ZOOM),
      "-": () => this.#host.zoom(1 / ZOOM),
      "0": () => this.#host.fit(),
      ArrowLeft: () => this.#host.pan(-PAN),
      ArrowRight: () => this.#host.pan(PAN),
      Home: () => this.#host.pan(-Infinity),
      End: () => this.#host.pan(Infinity),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };

  readonly #onWheel = (event: WheelEvent) => {
    const canvas = event.target;
    if (!(canvas instanceof HTMLCanvasElement)) return;
    const gutter = canvas.id === "overview" ? 0 : GUTTER;
    const width = canvas.clientWidth - gutter;
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
    if (event.ctrlKey || event.metaKey || event.altKey) {
      event.preventDefault();
      const place = Math.max(0, Math.min(1, (event.offsetX - gutter) / width));
      return this.#host.zoom(Math.exp(-event.deltaY * unit * WHEEL), gutter === 0 ? undefined : place);
    }
    const sideways = (event.shiftKey ? event.deltaY || event.deltaX : event.deltaX) * unit;
    if (sideways === 0) return;
    event.preventDefault();
    this.#host.pan(sideways / width);
  };
}
