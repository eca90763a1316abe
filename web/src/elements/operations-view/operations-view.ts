import { html, nothing, type TemplateResult } from "lit";
import { clock, duration } from "../../format.ts";
import { failureSeries, type MinuteInfo, type ProcessInfo, total, wholeHour } from "../../state/operations.ts";
import { OperationsController } from "../../state/operations-controller.ts";
import type { PlotSeries } from "../../state/plot-data.ts";
import { compact, costText, sumUsage, tokensOf } from "../../state/usage.ts";
import { operationsTexts as texts } from "../../texts/operations.ts";
import { usageTexts } from "../../texts/usage.ts";
import "../plot/plot.ts";
import "../session-table/session-table.ts";
import { ViewElement } from "../view/view.ts";
import { operationsStyles } from "./styles.ts";

const rate = (value: number): string =>
  texts.perSecond(value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 2 : 0 }));
const whole = (value: number): string => value.toLocaleString(undefined, { maximumFractionDigits: 2 });
const brief = (seconds: number): string =>
  seconds < 0.0995 ? `${(seconds * 1000).toPrecision(2)} ms` : duration(seconds);

/** The work of the person and its usage, and for operators the numbers of the process, live. */
export class OperationsViewElement extends ViewElement {
  static override styles = operationsStyles;
  readonly #state = new OperationsController(this);

  override render(): TemplateResult {
    const { info, problem } = this.#state;
    const isLive = this.#state.isPolling && problem === "";
    const label = isLive ? texts.live : texts.stopped;
    return html`${this.header(texts.title, html`<span class="live" data-live=${isLive} role="status">${label}</span>`)}
      <main>
        ${problem === "" ? nothing : this.#problem()}
        ${info === null ? (problem === "" ? html`<p class="hint">${texts.loading}</p>` : nothing) : this.#content()}
      </main>`;
  }

  #problem() {
    if (this.#state.isSignedOut) {
      return html`<p class="notice error" role="alert">${texts.signedOut} ${this.link({}, texts.signIn)}</p>`;
    }
    return html`<p class="notice error" role="alert">${texts.notUpdated(this.#state.problem)}</p>`;
  }

  #content() {
    const { info, sessions } = this.#state;
    if (info === null) return nothing;
    return html`
      ${info.process === null ? nothing : this.#process(info.process)} ${this.#yours()}
      <section aria-labelledby="plots">
        <h2 id="plots">${texts.plots}</h2>
        <div class="plots">${info.process === null ? nothing : this.#livePlots()} ${this.#hourPlots()}</div>
      </section>
      <section aria-labelledby="conversations">
        <h2 id="conversations">${texts.conversations}</h2>
        ${sessions.length === 0 ? html`<p class="hint">${texts.noConversations}</p>` : this.#conversations()}
      </section>
      ${info.process === null ? nothing : this.#about(info.process)}
    `;
  }

  // Numbers

  #process(process: ProcessInfo) {
    const { calls, turns, store, queued } = process;
    const { newest, samples } = this.#state.window;
    const failed = total(calls.failures);
    const commit = samples.findLast(({ commitSeconds }) => commitSeconds !== null)?.commitSeconds;
    const share = calls.calls === 0 ? 0 : failed / calls.calls;
    const percent = share.toLocaleString(undefined, { style: "percent", maximumFractionDigits: 1 });
    const callRate = typeof newest?.callRate === "number" ? rate(newest.callRate) : "…";
    const usage = [texts.turns(compact(total(turns.ended))), costText(turns.usage)].filter(Boolean).join(" · ");
    const open = texts.openNote(compact(queued), compact(process.waiting));
    const stored = store.available ? texts.commits(compact(store.commits)) : texts.unavailable;
    return html`<section aria-labelledby="process">
      <h2 id="process">${texts.process} <small>${texts.processHint}</small></h2>
      <dl class="tiles">
        ${tile("call-rate", texts.callRate, callRate, texts.calls(compact(calls.calls)))}
        ${tile("failures", texts.failures, compact(failed), texts.failureShare(percent), failed > 0 ? "bad" : "")}
        ${tile("open-calls", texts.openCalls, compact(total(process.executions)), open, queued > 0 ? "wait" : "")}
        ${tile("turns", texts.turnsRunning, compact(turns.running), usage)}
        ${tile("sessions", texts.sessions, compact(process.sessions), texts.streams(compact(process.readers)))}
        ${tile("commit", texts.commit, commit ? brief(commit) : "–", stored, store.available ? "" : "bad")}
      </dl>
    </section>`;
  }

  #yours() {
    const { info, sessions } = this.#state;
    if (info === null) return nothing;
    const { running, queued, waiting } = info.user;
    const usage = sumUsage(sessions.map((each) => each.usage));
    const note = usage.cost === null && usage.requests > 0 ? texts.unknownCost : "";
    return html`<section aria-labelledby="yours">
      <h2 id="yours">${texts.yours}</h2>
      <dl class="tiles">
        ${tile("your-running", texts.running, compact(running), "")}
        ${tile("your-queued", texts.queued, compact(queued), "", queued > 0 ? "wait" : "")}
        ${tile("your-waiting", texts.waitingForYou, compact(waiting), "", waiting > 0 ? "wait" : "")}
        ${tile("your-tokens", texts.tokens, compact(tokensOf(usage)), texts.tokensOf(sessions.length))}
        ${tile("your-cost", usageTexts.cost, costText(usage) || "–", note)}
      </dl>
    </section>`;
  }

  // Plots

  #livePlots() {
    const { window } = this.#state;
    const calls: PlotSeries[] = [
      { label: texts.ended, values: window.values("callRate"), color: "busy" },
      { label: texts.failed, values: window.values("failureRate"), color: "bad" },
    ];
    const open: PlotSeries[] = [
      { label: texts.running, values: window.values("running"), color: "busy" },
      { label: texts.queued, values: window.values("queued"), color: "plot-violet" },
      { label: texts.waiting, values: window.values("waiting"), color: "wait" },
      { label: texts.turnsSeries, values: window.values("turns"), color: "plot-teal" },
    ];
    const commits: PlotSeries[] = [{ label: texts.mean, values: window.values("commitSeconds"), color: "plot-teal" }];
    return html`
      ${plot("calls-live", texts.callsPlot, window.times, calls, rate)}
      ${plot("open-live", texts.openPlot, window.times, open, whole, true)}
      ${plot("commits-live", texts.commitPlot, window.times, commits, brief)}
    `;
  }

  #hourPlots() {
    const minutes = this.#state.minutes.length === 0 ? [] : wholeHour(this.#state.minutes, Date.now());
    const times = minutes.map(({ start }) => Date.parse(start) / 1000);
    const failed = ({ failures }: MinuteInfo) => total(failures);
    const values = (read: (minute: MinuteInfo) => number | null) => minutes.map(read);
    const calls: PlotSeries[] = [
      {
        label: texts.succeeded,
        values: values((each) => each.calls - failed(each) - each.cancellations),
        color: "good",
      },
      { label: texts.failed, values: values(failed), color: "bad" },
      { label: texts.cancelled, values: values((each) => each.cancellations), color: "faint" },
    ];
    const latency: PlotSeries[] = [
      { label: "p50", values: values(({ p50 }) => p50), color: "good" },
      { label: "p95", values: values(({ p95 }) => p95), color: "wait" },
      { label: "p99", values: values(({ p99 }) => p99), color: "bad" },
    ];
    return html`
      ${plot("calls-hour", texts.callsHour, times, calls, whole, true, "stacked")}
      ${plot("latency-hour", texts.latencyHour, times, latency, brief)}
      ${plot("failures-hour", texts.failuresHour, times, failureSeries(minutes, texts.others), whole, true, "stacked")}
    `;
  }

  // Conversations, and the server

  #conversations() {
    const { sessions, hasMore, isLoading } = this.#state;
    const more = html`<button
      type="button"
      id="more"
      ?disabled=${isLoading}
      @click=${() => void this.#state.more()}
    >
      ${texts.more}
    </button>`;
    return html`<callboard-session-table .sessions=${sessions} .hasMore=${hasMore}></callboard-session-table>
      ${hasMore ? more : nothing}`;
  }

  #about({ version, python, started_at: started, store, limits, kept_bytes: kept }: ProcessInfo) {
    const up = Math.max(0, (Date.parse(this.#state.info?.at ?? started) - Date.parse(started)) / 1000);
    const rows: [string, string][] = [
      [texts.version, version],
      [texts.python, python],
      [texts.uptime, clock(up)],
      [texts.store, texts.storeKinds[store.kind] ?? store.kind],
      [texts.memory, `${compact(kept / 1_048_576)} MiB`],
      [texts.workers, texts.noWorkers],
    ];
    const bounds = Object.entries(limits).map(([name, most]): [string, string] => [
      texts.limitNames[name] ?? name,
      most.toLocaleString(),
    ]);
    return html`<section aria-labelledby="about">
      <h2 id="about">${texts.about}</h2>
      <div class="about">${facts(rows)} ${facts(bounds)}</div>
    </section>`;
  }
}

function tile(id: string, label: string, value: string, note: string, tone = "") {
  return html`<div class="tile" id=${id} data-tone=${tone}>
    <dt>${label}</dt>
    <dd class="figure">${value}</dd>
    ${note === "" ? nothing : html`<dd class="note">${note}</dd>`}
  </div>`;
}

function facts(rows: readonly (readonly [string, string])[]) {
  return html`<dl class="facts">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

function plot(
  id: string,
  label: string,
  times: readonly number[],
  series: readonly PlotSeries[],
  format: (value: number) => string,
  isWhole = false,
  kind = "lines",
) {
  return html`<callboard-plot class="sheet" id=${id} label=${label} kind=${kind} .times=${times} .series=${series}
    .format=${format} .isWhole=${isWhole}></callboard-plot>`;
}

customElements.define("callboard-operations-view", OperationsViewElement);
