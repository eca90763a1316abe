import { html, nothing, type TemplateResult } from "lit";
import { PageRunEvent } from "../../events/page-run-event.ts";
import type { PageRun, PageRunChoice, PageRunState } from "../../state/page-run.ts";
import { pageToolTexts as texts } from "../../texts/page-tools.ts";
import { Part } from "../part/part.ts";

type Button = readonly [choice: PageRunChoice, kind: string, label: string];

const QUESTIONS: Partial<Record<PageRunState, { readonly text: string; readonly buttons: readonly Button[] }>> = {
  asking: {
    text: texts.mayHaveRun,
    buttons: [
      ["run", "yes", texts.runAgain],
      ["give-up", "stop", texts.giveUp],
    ],
  },
  copy: {
    text: texts.copyQuestion,
    buttons: [
      ["allow", "yes", texts.copy],
      ["refuse", "stop", texts.refuse],
    ],
  },
  notify: {
    text: texts.notifyQuestion,
    buttons: [
      ["allow", "yes", texts.notify],
      ["refuse", "stop", texts.refuse],
    ],
  },
};
const NOTES: Partial<Record<PageRunState, string>> = { elsewhere: texts.elsewhere, sending: texts.sending };

/**
 * What the page does with a call of its own tools, and the question if the person has to decide.
 *
 * @fires callboard-page-run - The person decides.
 */
export class PageRunElement extends Part {
  static override properties = { run: { attribute: false } };
  declare run: PageRun;

  /** Whether the focus is here. */
  get hasFocus(): boolean {
    return this.focused !== null;
  }

  /** Focus the first button. */
  override focus(): void {
    this.querySelector<HTMLElement>("button")?.focus({ preventScroll: true });
  }

  override render(): TemplateResult | typeof nothing {
    const { state, tool } = this.run;
    const question = QUESTIONS[state];
    const note = NOTES[state];
    if (question === undefined) return note === undefined ? nothing : html`<p class="stage">${note}</p>`;
    return html`<div class="request">
      <p class="question">${question.text}</p>
      <div class="choices" role="group" aria-label=${texts.answerTo(tool)}>
        ${question.buttons.map(([choice, kind, label]) => {
          const choose = () => this.dispatchEvent(new PageRunEvent(this.run.requestId, choice));
          return html`<button type="button" class=${kind} @click=${choose}>${label}</button>`;
        })}
      </div>
    </div>`;
  }
}

customElements.define("callboard-page-run", PageRunElement);
