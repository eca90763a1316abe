import type { ReactiveController, ReactiveControllerHost } from "lit";

/** Pixels from the end within which the newest items are followed. */
const NEAR = 120;

/** Keeps a scrolled element at its end while its content grows, unless the reader has scrolled away. */
export class ScrollController implements ReactiveController {
  readonly #scroller: () => HTMLElement | null;
  readonly #onChange: () => void;
  #observer: ResizeObserver | undefined;
  #watched: HTMLElement | null = null;
  #distance = 0; // pixels between the visible part and the end, after the last scroll or resize
  #kept: number | null = null;

  /** `onChange` is called when another part of the content may be visible. */
  constructor(host: ReactiveControllerHost, scroller: () => HTMLElement | null, onChange: () => void) {
    this.#scroller = scroller;
    this.#onChange = onChange;
    host.addController(this);
  }

  hostUpdated(): void {
    const scroller = this.#scroller();
    if (scroller !== null && this.#watched !== scroller) this.#watch(scroller);
    if (this.#kept !== null && scroller !== null) {
      scroller.scrollTop = scroller.scrollHeight - scroller.clientHeight - this.#kept;
      this.#kept = null;
    }
  }

  hostDisconnected(): void {
    this.#observer?.disconnect();
    this.#watched?.removeEventListener("scroll", this.#onScroll);
    this.#watched = null;
  }

  /** Whether the end is visible, or nearly. */
  get isAtEnd(): boolean {
    return this.#distance <= NEAR;
  }

  toEnd(behavior: ScrollBehavior = "instant"): void {
    const scroller = this.#scroller();
    if (behavior === "instant") this.#distance = 0;
    scroller?.scrollTo({ top: scroller.scrollHeight, behavior });
  }

  /** Keep the visible part in its place when the next update adds content before it. */
  keepPlace(): void {
    this.#kept = this.#measure();
  }

  #watch(scroller: HTMLElement): void {
    this.hostDisconnected();
    this.#watched = scroller;
    this.#distance = 0;
    scroller.addEventListener("scroll", this.#onScroll, { passive: true });
    this.#observer = new ResizeObserver(() => this.#onResize());
    this.#observer.observe(scroller);
    if (scroller.firstElementChild) this.#observer.observe(scroller.firstElementChild);
  }

  readonly #onScroll = () => {
    this.#distance = this.#measure();
    this.#onChange();
  };

  #onResize(): void {
    if (this.isAtEnd) this.toEnd();
    else this.#distance = this.#measure();
    this.#onChange();
  }

  #measure(): number {
    const scroller = this.#scroller();
    return scroller === null ? 0 : scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
  }
}
