import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { explain } from "../../api/problem.ts";
import type { BoardEvent } from "../../api/wire.ts";
import { NavigateEvent } from "../../events/navigate-event.ts";
import { SelectEventEvent } from "../../events/select-event-event.ts";
import { duration, title } from "../../format.ts";
import type { BoardController } from "../../state/board-controller.ts";
import type { Entry } from "../../state/board-entry.ts";
import { type Route, routeQuery } from "../../state/route.ts";
import { sinceStart } from "../../state/time-scale.ts";
import { boardTexts } from "../../texts/board.ts";
import "../json-tree/json-tree.ts";
import { Part } from "../part/part.ts";
import { copyText } from "../shared/copy.ts";

const REFRESH = 1_000; // milliseconds after which new steps of a call are shown
const STEPS = 60; // steps of a call that are listed around the event

/**
 * An event in detail: its times, the steps of its call or turn, and its content, which is loaded when it is shown.
 *
 * @fires callboard-select-event - The person goes to another step, or closes the details (number 0).
 * @fires callboard-navigate - The person goes to the call in the conversation.
 */
export class BoardEventElement extends Part {
  static override properties = {
    board: { attribute: false },
    seq: { attribute: false },
    session: { attribute: false },
    whole: { state: true },
    problem: { state: true },
    isCopied: { state: true },
  };
  declare board: BoardController;
  declare seq: number;
  declare session: string;
  declare whole: BoardEvent | null;
  declare problem: string;
  declare isCopied: boolean;
  #loading = new AbortController();
  #refresh: ReturnType<typeof setInterval> | undefined;

  constructor() {
    super();
    this.seq = 0;
    this.session = this.problem = "";
    this.whole = null;
    this.isCopied = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#refresh = setInterval(() => this.requestUpdate(), REFRESH);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#refresh);
    this.#loading.abort();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has("seq") || changed.has("board")) void this.#load();
  }

  override render(): TemplateResult {
    const entry = this.board.entry(this.seq);
    if (entry === null) return html`<p class="notice">${boardTexts.gone}</p>`;
    const all = this.board.tracks.entriesOf(entry);
    return html`
      <header>
        <h2>
          <span class="dot ${entry.lane}" data-failed=${entry.failed || nothing}></span>
          ${boardTexts.event(entry.kind) || title(entry.kind)} <span class="number">#${entry.seq}</span>
        </h2>
        <button type="button" class="quiet" id="close-event" aria-label=${boardTexts.close} @click=${() => this.#go(0)}>✕</button>
      </header>
      ${this.#facts(entry, all)} ${this.#links(entry)}
      <section aria-labelledby="event-content">
        <h3 id="event-content">
          ${boardTexts.content}
          <button type="button" class="quiet" id="copy-event" ?disabled=${this.whole === null} @click=${this.#copy}>
            ${this.isCopied ? boardTexts.copied : boardTexts.copy}
          </button>
        </h3>
        ${this.#content()}
      </section>
      ${this.#steps(entry, all)}
    `;
  }

  #content() {
    if (this.problem !== "") return html`<p class="notice error" role="alert">${this.problem}</p>`;
    if (this.whole === null) return nothing;
    return keyed(
      this.seq,
      html`<div class="tree" tabindex="0" role="group" aria-label=${boardTexts.content}>
        <callboard-json-tree .levels=${2} .value=${this.whole.data}></callboard-json-tree>
      </div>`,
    );
  }

  #facts(entry: Entry, all: readonly Entry[]) {
    const start = this.board.log.first?.at ?? entry.at;
    const time = new Date(entry.at);
    const facts: [string, unknown][] = [
      [boardTexts.time, html`<time datetime=${time.toISOString()}>${absolute(time)}</time>`],
      [boardTexts.sinceStart, sinceStart(entry.at - start)],
    ];
    const before = all[all.findIndex(({ seq }) => seq === entry.seq) - 1];
    if (before !== undefined) facts.push([boardTexts.sinceStep, duration(Math.max(0, entry.at - before.at) / 1000)]);
    if (entry.tool !== "") facts.push([boardTexts.tool, entry.tool]);
    if (entry.call !== "") facts.push([boardTexts.call, html`<code>${entry.call}</code>`]);
    if (entry.request !== "") facts.push([boardTexts.request, html`<code>${entry.request}</code>`]);
    facts.push([boardTexts.familyOf, boardTexts.families[entry.family]]);
    return html`<dl>
      ${facts.map(([name, value]) => html`<dt>${name}</dt><dd dir="auto">${value}</dd>`)}
    </dl>`;
  }

  #links({ call, request }: Entry) {
    const callId = call || this.board.tracks.requests.get(request)?.call || "";
    if (callId !== "") return this.#link({ session: this.session, call: callId }, boardTexts.showCall, "show-call");
    if (request !== "") return this.#link({ session: this.session, request }, boardTexts.showRequest, "show-request");
    return nothing;
  }

  #link(to: Partial<Route>, text: string, id: string) {
    const follow = (event: MouseEvent) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab or window
      event.preventDefault();
      this.dispatchEvent(new NavigateEvent(to));
    };
    return html`<p class="links"><a id=${id} href=${routeQuery(to)} @click=${follow}>${text}</a></p>`;
  }

  /** The steps of the call or turn that the event belongs to, around it. */
  #steps(entry: Entry, all: readonly Entry[]) {
    if (all.length < 2) return nothing;
    const at = all.findIndex(({ seq }) => seq === entry.seq);
    const from = Math.max(0, Math.min(at - STEPS / 2, all.length - STEPS));
    const steps = all.slice(from, from + STEPS);
    const more = (count: number) => (count > 0 ? html`<li class="more">${boardTexts.moreSteps(count)}</li>` : nothing);
    return html`<section aria-labelledby="event-steps">
      <h3 id="event-steps">${entry.call !== "" ? boardTexts.steps : boardTexts.turnSteps}</h3>
      <ol class="steps">
        ${more(from)} ${steps.map((step, index) => this.#step(step, all[from + index - 1] ?? null))}
        ${more(all.length - from - steps.length)}
      </ol>
    </section>`;
  }

  #step(step: Entry, before: Entry | null) {
    const passed = before === null ? 0 : step.at - before.at;
    const since = passed >= 1 ? `+${duration(passed / 1000)}` : "";
    return html`<li data-failed=${step.failed || nothing}>
      <button type="button" aria-current=${step.seq === this.seq ? "step" : nothing} @click=${() => this.#go(step.seq)}>
        <span class="kind">${boardTexts.event(step.kind) || title(step.kind)}</span> <span class="since">${since}</span>
        <span class="text" dir="auto">${step.text}</span>
      </button>
    </li>`;
  }

  #go(seq: number): void {
    this.dispatchEvent(new SelectEventEvent(seq, true));
  }

  async #load(): Promise<void> {
    this.#loading.abort();
    const { signal } = (this.#loading = new AbortController());
    this.isCopied = false;
    this.problem = "";
    try {
      const whole = await this.board.whole(this.seq, signal);
      if (signal.aborted) return;
      this.whole = whole;
      if (whole === null) this.problem = boardTexts.gone;
    } catch (error) {
      if (!signal.aborted) [this.whole, this.problem] = [null, explain(error)];
    }
  }

  readonly #copy = async () => {
    this.isCopied = await copyText(JSON.stringify(this.whole, null, 2));
  };
}

/** A date and a time with milliseconds, in the reader's language. */
function absolute(time: Date): string {
  return time.toLocaleString(undefined, {
    dateStyle: undefined,
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
    timeZoneName: "short",
  });
}

customElements.define("callboard-board-event", BoardEventElement);
