import { html, nothing, type TemplateResult } from "lit";
import type { BreakerInfo, ToolDetails, ToolPolicies } from "../../api/tool-wire.ts";
import { duration, title } from "../../format.ts";
import type { CatalogueTool } from "../../state/catalogue.ts";
import type { SessionController } from "../../state/session-controller.ts";
import type { ShownRun } from "../../state/tool-runs.ts";
import type { BreakerChange, Hour } from "../../state/tool-statistics.ts";
import { catalogueTexts as texts } from "../../texts/catalogue.ts";
import { Part } from "../part/part.ts";
import "../tool-run/tool-run.ts";
import "../tool-schemas/tool-schemas.ts";
import "../tool-statistics/tool-statistics.ts";

const TABS = ["run", "schemas", "statistics"] as const;

type Tab = (typeof TABS)[number];

/**
 * One tool: what it is, its policies and breakers, and under tabs a form to run it, its schemas and its statistics.
 *
 * @fires callboard-run-tool - The person runs the tool.
 */
export class ToolPageElement extends Part {
  static override properties = {
    tool: { attribute: false },
    details: { attribute: false },
    hour: { attribute: false },
    changes: { attribute: false },
    runs: { attribute: false },
    answers: { attribute: false },
    cancelling: { attribute: false },
    sessionId: { attribute: false },
    isLoading: { attribute: false },
    tab: { state: true },
  };
  declare tool: CatalogueTool;
  /** Null while it is loaded, and for a tool of the page. */
  declare details: ToolDetails | null;
  declare hour: Hour | null;
  declare changes: readonly BreakerChange[];
  declare runs: readonly ShownRun[];
  declare answers: SessionController["answers"];
  declare cancelling: SessionController["cancelling"];
  declare sessionId: string | null;
  /** Whether the details are being loaded. What is below them is shown afterwards, so that it does not move. */
  declare isLoading: boolean;
  /** The tab stays the same when another tool is shown. */
  declare tab: Tab;

  constructor() {
    super();
    this.details = null;
    this.hour = null;
    this.changes = [];
    this.runs = [];
    this.isLoading = false;
    this.tab = "run";
  }

  override render(): TemplateResult {
    const { name, description } = this.tool;
    const topic = this.tool.title === title(name) ? "" : this.tool.title; // one that only repeats the name
    const usage = this.tool.entry.usage ?? "";
    return html`<article aria-labelledby="tool-title">
      <header class="tool-head">
        <h2 id="tool-title" tabindex="-1">${name}</h2>
        ${topic === "" ? nothing : html`<p class="tool-topic" dir="auto">${topic}</p>`}
        <p class="tool-description" dir="auto">${description}</p>
        ${usage === "" ? nothing : html`<p class="tool-usage" dir="auto"><strong>${texts.usage}</strong> ${usage}</p>`}
      </header>
      ${this.isLoading ? html`<p class="hint">${texts.loading}</p>` : this.#body()}
    </article>`;
  }

  #body() {
    return html`${(this.details?.breakers ?? []).map((breaker) => this.#breaker(breaker))}
      <dl class="tool-facts">${this.#facts().map(([label, value]) => this.#fact(label, value))}</dl>
      <div class="tabs" role="tablist" aria-label=${texts.sections} @keydown=${this.#onTabKey}>
        ${this.#tabs.map((tab) => this.#tab(tab))}
      </div>
      <div class="tab-panel" role="tabpanel" id="tool-panel" aria-labelledby="tab-${this.#shownTab}">
        ${this.#panel()}
      </div>`;
  }

  /** A tool of the page is neither run by the server nor counted there. */
  get #tabs(): readonly Tab[] {
    return this.tool.isBrowser ? ["schemas"] : TABS;
  }

  get #shownTab(): Tab {
    return this.#tabs.includes(this.tab) ? this.tab : (this.#tabs[0] ?? "schemas");
  }

  #tab(tab: Tab) {
    const isShown = tab === this.#shownTab;
    return html`<button
      type="button"
      role="tab"
      id="tab-${tab}"
      aria-selected=${isShown}
      aria-controls="tool-panel"
      tabindex=${isShown ? 0 : -1}
      @click=${() => (this.tab = tab)}
    >
      ${texts.tabs[tab]}
    </button>`;
  }

  #panel() {
    const entry = this.details?.tool ?? this.tool.entry;
    switch (this.#shownTab) {
      case "run":
        return html`<callboard-tool-run
          .entry=${entry}
          .runs=${this.runs}
          .answers=${this.answers}
          .cancelling=${this.cancelling}
          .sessionId=${this.sessionId}
        ></callboard-tool-run>`;
      case "schemas":
        return html`${this.tool.isBrowser ? html`<p class="hint">${texts.inPage}</p>` : nothing}
          <callboard-tool-schemas .entry=${entry}></callboard-tool-schemas>`;
      case "statistics":
        return html`<callboard-tool-statistics
          .counters=${this.details?.statistics ?? null}
          .hour=${this.hour}
          .changes=${this.changes}
        ></callboard-tool-statistics>`;
    }
  }

  #breaker({ state, target, refused_for: seconds }: BreakerInfo) {
    if (state === "closed") return nothing;
    const text = state === "open" && seconds > 0 ? texts.paused(duration(seconds)) : texts.probing;
    return html`<p class="notice breaker" data-state=${state}>${target === null ? "" : `${target}: `}${text}</p>`;
  }

  #fact(label: string, value: string) {
    return html`<div><dt>${label}</dt><dd dir="auto">${value}</dd></div>`;
  }

  #facts(): [string, string][] {
    const { namespace, group, tags, mode, entry } = this.tool;
    const { channels, gate, idempotent = false, estimated_duration: estimated, timeout, placement, queue } = entry;
    const policies = this.details?.policies;
    const facts: [string, string | null][] = [
      [texts.facts.mode, texts.mode[mode] ?? mode],
      [texts.facts.namespace, namespace],
      [texts.facts.group, group || null],
      [texts.facts.tags, tags.slice(0, 20).join(", ") || null],
      [texts.facts.channels, channels?.slice(0, 20).join(", ") ?? null],
      [texts.facts.gate, gate ? texts.gate(gate.name, gate.open) : null],
      [texts.facts.idempotent, idempotent ? texts.yes : texts.no],
      [texts.facts.estimated, seconds(estimated)],
      [texts.facts.placement, placement ? (texts.placements[placement] ?? placement) : null],
      [texts.facts.queue, queue ?? null],
      [texts.facts.timeout, seconds(policies?.timeout ?? timeout)],
      ...(policies === undefined ? [] : policyFacts(policies, mode)),
    ];
    return facts.filter((fact): fact is [string, string] => fact[1] !== null);
  }

  readonly #onTabKey = (event: KeyboardEvent) => {
    const tabs = this.#tabs;
    const at = tabs.indexOf(this.#shownTab);
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const isBackwards = getComputedStyle(this).direction === "rtl";
    if (step === 0) return;
    event.preventDefault();
    this.tab = tabs[(at + (isBackwards ? -step : step) + tabs.length) % tabs.length] ?? "run";
    void this.updateComplete.then(() => this.querySelector<HTMLElement>(`#tab-${this.#shownTab}`)?.focus());
  };
}

function seconds(value: number | null | undefined): string | null {
  return value === null || value === undefined ? null : duration(value);
}

function policyFacts(policies: ToolPolicies, mode: string): [string, string | null][] {
  const { retry, breaker, total_timeout: total, inline_budget: budget, concurrency, expires } = policies;
  const categories = retry.retry_on.join(", ").replaceAll("_", " ");
  return [
    [texts.facts.totalTimeout, seconds(total)],
    [texts.facts.inlineBudget, mode === "inline" ? duration(budget) : null],
    [texts.facts.expires, seconds(expires)],
    [texts.facts.concurrency, concurrency === null ? null : String(concurrency)],
    [texts.facts.retry, retry.max_attempts === 1 ? texts.oneAttempt : texts.retry(retry.max_attempts, categories)],
    [
      texts.facts.breaker,
      texts.breakerPolicy(
        breaker.failure_threshold,
        duration(breaker.recovery_time),
        texts.scopes[breaker.scope] ?? breaker.scope,
      ),
    ],
  ];
}

customElements.define("callboard-tool-page", ToolPageElement);
