import { html, nothing, type TemplateResult } from "lit";
import type { ToolCounters } from "../../api/tool-wire.ts";
import { ago, duration } from "../../format.ts";
import {
  type BreakerChange,
  failureSeries,
  type Hour,
  latencySeries,
  outcomeSeries,
} from "../../state/tool-statistics.ts";
import { catalogueTexts as texts } from "../../texts/catalogue.ts";
import { Part } from "../part/part.ts";
import "../plot/plot.ts";

const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

/** A duration on an axis, which starts at zero. */
const shortDuration = (seconds: number) => (seconds === 0 ? "0" : duration(seconds));

/** The statistics of a tool, or of all tools: totals, and plots of the last hour. */
export class ToolStatisticsElement extends Part {
  static override properties = {
    counters: { attribute: false },
    hour: { attribute: false },
    changes: { attribute: false },
  };
  /** The totals of one tool. Null for all tools. */
  declare counters: ToolCounters | null;
  declare hour: Hour | null;
  declare changes: readonly BreakerChange[] | null;

  constructor() {
    super();
    this.counters = null;
    this.hour = null;
    this.changes = null;
  }

  override render(): TemplateResult {
    return html`${this.counters === null ? nothing : this.#totals(this.counters)}
      <h3>${texts.lastHour}</h3>
      ${this.hour === null ? html`<p class="hint">${texts.loading}</p>` : this.#plots(this.hour)}
      ${this.changes === null ? nothing : this.#changes(this.changes)}`;
  }

  #totals(counters: ToolCounters) {
    const { calls, success_rate: rate, retries, cancellations, last_error_at: failedAt, breaker } = counters;
    const time = (seconds: number | null) => (seconds === null ? texts.none : duration(seconds));
    const totals: [string, string][] = [
      [texts.totals.calls, calls.toLocaleString()],
      [texts.totals.successRate, rate === null ? texts.none : percent.format(rate)],
      [texts.totals.p50, time(counters.p50)],
      [texts.totals.p95, time(counters.p95)],
      [texts.totals.p99, time(counters.p99)],
      [texts.totals.retries, retries.toLocaleString()],
      [texts.totals.cancellations, cancellations.toLocaleString()],
      [texts.totals.breaker, texts.breakerStates[breaker] ?? breaker],
      [texts.totals.lastError, failedAt === null ? texts.none : ago(failedAt)],
    ];
    return html`<h3>${texts.sinceStart}</h3>
      <dl class="totals">${totals.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
  }

  #plots(hour: Hour) {
    const { times } = hour;
    const failures = failureSeries(hour);
    return html`<div class="plots">
      <callboard-plot
        class="sheet"
        label=${texts.calls}
        kind="stacked"
        group="tools"
        .times=${times}
        .series=${outcomeSeries(hour, texts.outcomes)}
        .isWhole=${true}
      ></callboard-plot>
      <callboard-plot
        class="sheet"
        label=${texts.latency}
        kind="lines"
        group="tools"
        .times=${times}
        .series=${latencySeries(hour)}
        .format=${shortDuration}
      ></callboard-plot>
      <callboard-plot
        class="sheet"
        label=${texts.failures}
        kind="stacked"
        group="tools"
        .times=${failures.length === 0 ? [] : times}
        .series=${failures}
        .isWhole=${true}
      ></callboard-plot>
    </div>`;
  }

  #changes(changes: readonly BreakerChange[]) {
    const name = (state: string) => texts.breakerStates[state] ?? state;
    return html`<h3>${texts.breakerChanges}</h3>
      ${
        changes.length === 0
          ? html`<p class="hint">${texts.noBreakerChanges}</p>`
          : html`<ol class="changes">
              ${changes.map(
                ({ at, from, to, target }) =>
                  html`<li data-state=${to}>
                    <time>${new Date(at).toLocaleTimeString()}</time>
                    ${texts.change(name(from), name(to))}
                    <span dir="auto">${target === null ? "" : texts.target(target)}</span>
                  </li>`,
              )}
            </ol>`
      }`;
  }
}

customElements.define("callboard-tool-statistics", ToolStatisticsElement);
