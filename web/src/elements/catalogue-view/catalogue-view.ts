import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { AnswerEvent } from "../../events/answer-event.ts";
import type { CancelCallEvent } from "../../events/cancel-call-event.ts";
import type { RetryRunEvent } from "../../events/retry-run-event.ts";
import type { RunToolEvent } from "../../events/run-tool-event.ts";
import { BROWSER, type CatalogueTool, catalogueTool } from "../../state/catalogue.ts";
import { ToolDetailsController } from "../../state/tool-details-controller.ts";
import { ToolListController } from "../../state/tool-list-controller.ts";
import { ToolRunsController } from "../../state/tool-runs-controller.ts";
import { catalogueTexts as texts } from "../../texts/catalogue.ts";
import "../tool-list/tool-list.ts";
import type { ToolListElement } from "../tool-list/tool-list.ts";
import "../tool-page/tool-page.ts";
import type { ToolPageElement } from "../tool-page/tool-page.ts";
import "../tool-statistics/tool-statistics.ts";
import { ViewElement } from "../view/view.ts";
import { catalogueStyles } from "./styles.ts";

/**
 * The catalogue of tools: a list with search and filters, and beside it the page of one tool, or the statistics of all.
 * A narrow window shows one of the two.
 */
export class CatalogueViewElement extends ViewElement {
  static override styles = catalogueStyles;
  static override properties = { ...ViewElement.properties, announcement: { state: true } };
  declare announcement: string;
  readonly #list = new ToolListController(this);
  readonly #details = new ToolDetailsController(this);
  readonly #runs = new ToolRunsController(
    this,
    { onDenied: () => undefined, onAnnouncement: (text) => (this.announcement = text) },
    texts.session,
  );

  constructor() {
    super();
    this.announcement = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    globalThis.addEventListener("keydown", this.#onKey, { capture: true });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    globalThis.removeEventListener("keydown", this.#onKey, { capture: true });
  }

  override willUpdate(changed: PropertyValues<this>): void {
    const { tool } = this.route;
    const isBrowser = tool.startsWith(`${BROWSER}:`);
    this.#details.show(isBrowser ? null : tool, this.#runs.sessionId);
    if (changed.get("route") !== undefined && changed.get("route")?.tool !== tool && tool !== "") this.#focusTool();
  }

  override render(): TemplateResult {
    const { tool } = this.route;
    return html`${this.header(texts.title)}
      <main>
        <div class="panes" data-shows=${tool === "" ? "list" : "tool"}>
          <callboard-tool-list .tools=${this.#list.tools} .current=${tool}></callboard-tool-list>
          <div
            class="pane"
            @callboard-run-tool=${this.#onRun}
            @callboard-retry-run=${this.#onRetry}
            @callboard-answer=${this.#onAnswer}
            @callboard-cancel-call=${this.#onCancel}
          >
            ${this.link({ view: "tools" }, html`‹ ${texts.allTools}`, "back")} ${this.#problem()} ${this.#content()}
          </div>
        </div>
      </main>
      <p class="hidden" role="status" aria-live="polite">${this.announcement}</p>`;
  }

  #problem() {
    const problem =
      this.#list.error || (this.#details.isMissing ? "" : this.#details.error) || this.#runs.session.error;
    if (problem === "") return nothing;
    return html`<p class="notice error" role="alert">
      ${problem}
      <button type="button" class="quiet" @click=${this.#refresh}>${texts.tryAgain}</button>
    </p>`;
  }

  #content() {
    const { tool } = this.route;
    if (tool === "") return this.#overview();
    const found = this.#list.tools.find(({ id }) => id === tool) ?? this.#hidden(tool);
    if (found !== undefined) return this.#page(found);
    if (this.#list.isLoading) return html`<p class="hint">${texts.loading}</p>`;
    return this.#list.error === "" ? html`<p class="hint">${texts.missing(tool)}</p>` : nothing;
  }

  /** A tool that is not in the list, because its open breaker hides it. */
  #hidden(name: string): CatalogueTool | undefined {
    const { details } = this.#details;
    return details?.tool.name === name ? catalogueTool(details.tool) : undefined;
  }

  #page(tool: CatalogueTool) {
    const { details, hour, changes, error } = this.#details;
    const { session, sessionId } = this.#runs;
    const known = details?.tool.name === tool.name ? details : null;
    return html`<callboard-tool-page
      .tool=${tool}
      .details=${tool.isBrowser ? null : known}
      .isLoading=${!tool.isBrowser && known === null && error === ""}
      .hour=${hour}
      .changes=${changes}
      .runs=${this.#runs.shown(tool.name)}
      .answers=${session.answers}
      .cancelling=${session.cancelling}
      .sessionId=${sessionId}
    ></callboard-tool-page>`;
  }

  #overview() {
    return html`<section class="overview">
      <h2>${texts.overview}</h2>
      <p class="hint">${texts.overviewHint}</p>
      <callboard-tool-statistics .hour=${this.#details.hour}></callboard-tool-statistics>
    </section>`;
  }

  /** Move the focus to a tool that was opened, so that a screen reader reads it. */
  #focusTool(): void {
    void this.updateComplete.then(async () => {
      await this.renderRoot.querySelector<ToolPageElement>("callboard-tool-page")?.updateComplete;
      const pane = this.renderRoot.querySelector(".pane");
      if (pane !== null) pane.scrollTop = 0;
      this.renderRoot.querySelector<HTMLElement>("#tool-title")?.focus({ preventScroll: true });
    });
  }

  readonly #refresh = () => {
    this.#runs.session.error = "";
    void this.#list.refresh();
    void this.#details.refresh();
  };
  readonly #onRun = ({ tool, arguments: given }: RunToolEvent) => {
    void this.#runs.start(tool, given).then(() => this.#details.refresh());
  };
  readonly #onRetry = ({ callId }: RetryRunEvent) => void this.#runs.retry(callId);
  readonly #onAnswer = ({ request, answer }: AnswerEvent) => void this.#runs.session.answer(request, answer);
  readonly #onCancel = ({ executionId }: CancelCallEvent) => void this.#runs.session.cancel(executionId);

  /** The key that elsewhere writes a message searches here. */
  readonly #onKey = (event: KeyboardEvent) => {
    const isWriting = event
      .composedPath()
      .some((each) => each instanceof HTMLElement && each.matches("input, textarea, select"));
    if (event.key !== "/" || isWriting || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.renderRoot.querySelector<ToolListElement>("callboard-tool-list")?.focus();
  };
}

customElements.define("callboard-catalogue-view", CatalogueViewElement);
