import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { repeat } from "lit/directives/repeat.js";
import type { ToolEntry } from "../../api/tool-wire.ts";
import type { Schema } from "../../api/wire.ts";
import { NavigateEvent } from "../../events/navigate-event.ts";
import { RetryRunEvent } from "../../events/retry-run-event.ts";
import { RunToolEvent } from "../../events/run-tool-event.ts";
import { isLive } from "../../state/conversation.ts";
import { routeQuery } from "../../state/route.ts";
import { fieldsOf } from "../../state/schema.ts";
import type { AnswerState } from "../../state/request-answers.ts";
import { argumentsOf, type ShownRun } from "../../state/tool-runs.ts";
import { catalogueTexts as texts } from "../../texts/catalogue.ts";
import "../call/call.ts";
import "../form/form.ts";
import type { FormElement } from "../form/form.ts";
import { Part } from "../part/part.ts";

const MAX_EXAMPLES = 5;

/**
 * A form for a tool's arguments, and the cards of its runs by hand.
 *
 * @fires callboard-run-tool - The person runs the tool.
 * @fires callboard-retry-run - The person sends a run again.
 * @fires callboard-navigate - The person opens the conversation of the runs.
 */
export class ToolRunElement extends Part {
  static override properties = {
    entry: { attribute: false },
    runs: { attribute: false },
    answers: { attribute: false },
    cancelling: { attribute: false },
    sessionId: { attribute: false },
    asJson: { state: true },
    given: { state: true },
    problem: { state: true },
  };
  declare entry: ToolEntry;
  /** The runs of the tool, newest first. */
  declare runs: readonly ShownRun[];
  declare answers: ReadonlyMap<string, AnswerState>;
  declare cancelling: ReadonlySet<string>;
  /** The session of the runs. Null before the first. */
  declare sessionId: string | null;
  declare asJson: boolean;
  /** The arguments that the form starts with, and the number of the form. Each form starts with its own arguments. */
  declare given: { readonly number: number; readonly value: unknown };
  declare problem: string;

  constructor() {
    super();
    this.runs = [];
    this.answers = new Map();
    this.cancelling = new Set();
    this.sessionId = null;
    this.asJson = false;
    this.given = { number: 0, value: undefined };
    this.problem = "";
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("entry") || changed.get("entry")?.name === this.entry.name) return;
    this.asJson = false;
    this.#fill(undefined);
  }

  override render(): TemplateResult {
    return html`${this.#form()}
      <section class="runs" aria-labelledby="runs-title">
        <header>
          <h3 id="runs-title">${texts.runs}</h3>
          ${this.sessionId === null ? nothing : this.#sessionLink(this.sessionId)}
        </header>
        ${this.runs.length === 0 ? html`<p class="hint">${texts.noRuns}</p>` : nothing}
        <ol>
          ${repeat(
            this.runs,
            ({ key }) => key,
            (run) => this.#run(run),
          )}
        </ol>
      </section>`;
  }

  #form() {
    const schema = this.#schema;
    const fields = fieldsOf(schema);
    const isEmpty = fields !== null && fields.length === 0;
    return html`<form class="run-form" @submit=${this.#submit} aria-label=${texts.arguments}>
      ${this.#examples()} ${isEmpty ? html`<p class="hint">${texts.noArguments}</p>` : nothing}
      ${keyed(
        this.given.number,
        html`<callboard-form
          .schema=${schema}
          .value=${this.given.value}
          .asJson=${this.asJson}
          .label=${texts.argumentsJson}
        ></callboard-form>`,
      )}
      <p class="notice error" role="alert" ?hidden=${this.problem === ""}>${this.problem}</p>
      <div class="run-buttons">
        <button type="submit" class="send" id="run-tool">${texts.run}</button>
        ${isEmpty || fields === null ? nothing : this.#jsonSwitch()}
      </div>
    </form>`;
  }

  #examples() {
    const examples = this.entry.examples ?? [];
    if (examples.length === 0) return nothing;
    return html`<div class="examples" role="group" aria-label=${texts.examples}>
      ${examples.slice(0, MAX_EXAMPLES).map(
        (example, at) => html`<button type="button" class="quiet" @click=${() => this.#fill(example)}>
          ${texts.example(at + 1)}
        </button>`,
      )}
    </div>`;
  }

  #jsonSwitch() {
    return html`<button type="button" class="quiet" id="run-json" @click=${this.#switchJson}>
      ${this.asJson ? texts.asForm : texts.asJson}
    </button>`;
  }

  #sessionLink(session: string) {
    const open = (event: MouseEvent) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab or window
      event.preventDefault();
      this.dispatchEvent(new NavigateEvent({ session }));
    };
    return html`<a href=${routeQuery({ session })} @click=${open}>${texts.openSession}</a>`;
  }

  #run(run: ShownRun) {
    const { key, call, problem } = run;
    return html`<li data-run=${key}>
      <callboard-call
        .call=${call}
        .info=${this.entry}
        .answer=${this.answers.get(call.request?.id ?? "")}
        .isCancelling=${this.cancelling.has(call.executionId ?? "")}
      ></callboard-call>
      ${problem === "" ? nothing : this.#unsent(key, problem)} ${isLive(call) ? nothing : this.#again(run)}
    </li>`;
  }

  #unsent(callId: string, problem: string) {
    return html`<p class="notice error" role="alert">
      ${texts.notSent(problem)}
      <button type="button" class="quiet" @click=${() => this.dispatchEvent(new RetryRunEvent(callId))}>
        ${texts.sendAgain}
      </button>
    </p>`;
  }

  /** Buttons to repeat a run. One of another page may have masked secrets, so the person sees its arguments first. */
  #again(run: ShownRun) {
    const given = argumentsOf(run);
    return html`<div class="again">
      ${
        run.sent === undefined
          ? nothing
          : html`<button type="button" class="quiet" @click=${() => this.#start(given)}>${texts.runAgain}</button>`
      }
      <button type="button" class="quiet" @click=${() => this.#use(given)}>${texts.useArguments}</button>
    </div>`;
  }

  get #schema(): Schema {
    return this.entry.input_schema ?? {};
  }

  get #formElement(): FormElement | null {
    return this.querySelector<FormElement>(".run-form callboard-form");
  }

  /** Start the form anew. */
  #fill(value: unknown): void {
    this.given = { number: this.given.number + 1, value };
    this.problem = "";
  }

  async #use(given: unknown): Promise<void> {
    this.#fill(given);
    await this.updateComplete;
    this.querySelector(".run-form")?.scrollIntoView({ block: "nearest" });
    await this.#formElement?.updateComplete;
    this.#formElement?.focus();
  }

  /** Show the other form, with the arguments that were entered. */
  readonly #switchJson = () => {
    let value = this.given.value;
    try {
      value = this.#formElement?.read();
    } catch (error) {
      if (this.asJson) return void (this.problem = messageOf(error)); // the form cannot show it
    }
    this.asJson = !this.asJson;
    this.#fill(value);
  };

  readonly #submit = (event: Event) => {
    event.preventDefault();
    try {
      this.#start(this.#formElement?.read());
    } catch (error) {
      this.problem = messageOf(error);
    }
  };

  #start(given: unknown): void {
    this.problem = "";
    this.dispatchEvent(new RunToolEvent(this.entry.name, given));
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

customElements.define("callboard-tool-run", ToolRunElement);
