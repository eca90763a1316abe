import { html, nothing, type TemplateResult } from "lit";
import type { UsageInfo } from "../../api/wire.ts";
import { costText, usageLine } from "../../state/usage.ts";
import { usageTexts } from "../../texts/usage.ts";
import { Part } from "../part/part.ts";

/**
 * The usage of a conversation and its estimated cost: on one line, or with all numbers. Draws nothing without a usage.
 *
 * It draws into the element around it, which adds `usageStyles`.
 */
export class UsageElement extends Part {
  static override properties = { usage: { attribute: false }, isDetailed: { type: Boolean, attribute: "detailed" } };
  declare usage: UsageInfo | null;
  /** Whether all numbers are shown. */
  declare isDetailed: boolean;

  constructor() {
    super();
    this.usage = null;
    this.isDetailed = false;
  }

  override render(): TemplateResult | typeof nothing {
    if (!this.usage || this.usage.requests === 0) return nothing;
    if (!this.isDetailed) return html`<span class="usage" title=${usageTexts.label}>${usageLine(this.usage)}</span>`;
    const { requests, tool_calls: calls, input_tokens: input, output_tokens: output } = this.usage;
    const rows: [string, string][] = [
      [usageTexts.requests, requests.toLocaleString()],
      [usageTexts.toolCalls, calls.toLocaleString()],
      [usageTexts.inputTokens, input.toLocaleString()],
      [usageTexts.outputTokens, output.toLocaleString()],
      [usageTexts.cost, costText(this.usage) || usageTexts.unknownCost],
    ];
    return html`<dl class="usage-details" aria-label=${usageTexts.label}>
      ${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}
    </dl>
    ${this.#unpriced()}`;
  }

  #unpriced() {
    const { cost, unpriced_requests: count } = this.usage ?? { cost: null, unpriced_requests: 0 };
    return cost === null || count === 0 ? nothing : html`<p class="hint">${usageTexts.unpriced(count)}</p>`;
  }
}

customElements.define("callboard-usage", UsageElement);
