import { html, nothing, type TemplateResult } from "lit";
import type { Frame } from "../../api/sse-parser.ts";
import { isFields } from "../../api/wire.ts";
import { type Exchange, MAX_BYTES, MAX_TEXT } from "../../state/api-exchange.ts";
import { apiTexts as texts } from "../../texts/api-explorer.ts";
import "../json-tree/json-tree.ts";
import { Part } from "../part/part.ts";

/** The response to a request of the API explorer, also while it arrives. Large ones are shown in part. */
export class ApiResponseElement extends Part {
  static override properties = { exchange: { attribute: false }, isText: { state: true } };
  declare exchange: Exchange;
  /** Whether JSON is shown as text. */
  declare isText: boolean;

  constructor() {
    super();
    this.isText = false;
  }

  override render(): TemplateResult {
    const { state, status, headers, error } = this.exchange;
    return html`<section class="response" aria-label=${texts.response} data-state=${state} data-status=${status}>
      <h3>${texts.response}</h3>
      <p class="outcome" role="status">${this.#outcome()}</p>
      ${error === "" ? nothing : html`<p class="notice error">${error}</p>`} ${this.#problem()}
      ${
        headers.length === 0
          ? nothing
          : html`<details>
              <summary>${texts.headers}</summary>
              <dl class="facts">
                ${headers.map(([name, value]) => html`<dt>${name}</dt><dd dir="ltr">${value}</dd>`)}
              </dl>
            </details>`
      }
      ${this.#content()}
    </section>`;
  }

  #outcome() {
    const { state, status, statusText, ended, bytes } = this.exchange;
    const tone = status === 0 ? "" : status < 400 ? "good" : "bad";
    const code = status === 0 ? nothing : html`<strong class="code" data-tone=${tone}>${status} ${statusText}</strong>`;
    const time = texts.milliseconds(ended.toLocaleString(undefined, { maximumFractionDigits: ended < 10 ? 1 : 0 }));
    const size = texts.bytes(bytes.toLocaleString());
    const parts = [state === "sending" ? "" : time, status === 0 ? "" : size, texts.state[state]];
    return html`${code}${parts.filter(Boolean).map((part) => html`<span>${part}</span>`)}`;
  }

  /** What a problem document says, for people. */
  #problem() {
    const { status, value } = this.exchange;
    if (status < 400 || !isFields(value) || typeof value["code"] !== "string") return nothing;
    const text = [value["title"], value["detail"]].filter((each) => typeof each === "string").join(": ");
    return html`<p class="notice error problem"><code>${value["code"]}</code> ${text}</p>`;
  }

  #content() {
    const { state, frames, value, text, isCut } = this.exchange;
    if (frames !== null) return this.#stream(frames);
    if (state !== "done") return nothing;
    if (text === "") return html`<p class="hint">${texts.empty}</p>`;
    const hasTree = value !== undefined;
    const tree = html`<callboard-json-tree .value=${value} .isOpen=${true}></callboard-json-tree>`;
    return html`<div class="heading">
        <h4>${texts.content}</h4>
        ${hasTree ? this.#switch() : nothing}
      </div>
      ${isCut ? html`<p class="hint">${texts.cut(MAX_BYTES.toLocaleString())}</p>` : nothing}
      ${hasTree && !this.isText ? tree : this.#text(text)}`;
  }

  #switch() {
    return html`<button type="button" class="quiet" @click=${() => (this.isText = !this.isText)}>
      ${this.isText ? texts.asTree : texts.asText}
    </button>`;
  }

  #text(text: string) {
    return html`<pre class="raw" tabindex="0" dir="auto">${text}</pre>
      ${text.length < MAX_TEXT ? nothing : html`<p class="hint">${texts.textCut(MAX_TEXT.toLocaleString())}</p>`}`;
  }

  #stream(frames: readonly Frame[]) {
    return html`<div class="heading"><h4>${texts.frames(frames.length, this.exchange.frameCount)}</h4></div>
      <ol class="frames" tabindex="0" aria-label=${texts.content}>
        ${frames.toReversed().map(
          ({ id, event, data }) => html`<li>
            <span class="kind">${event}</span> <span class="hint">${id ?? ""}</span>
            <code dir="ltr">${data === undefined ? texts.heartbeat : data.slice(0, 2_000)}</code>
          </li>`,
        )}
      </ol>`;
  }
}

customElements.define("callboard-api-response", ApiResponseElement);
