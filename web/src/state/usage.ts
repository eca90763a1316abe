/** The usage of conversations: sums, and texts for people. Pure functions. */
import type { UsageInfo } from "../api/wire.ts";
import { usageTexts } from "../texts/usage.ts";

export const NO_USAGE: UsageInfo = {
  requests: 0,
  tool_calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost: null,
  unpriced_requests: 0,
};

/** The sum of usages. Its cost is null if none of them has one. */
export function sumUsage(usages: Iterable<UsageInfo | null | undefined>): UsageInfo {
  let sum = NO_USAGE;
  for (const each of usages) {
    if (!each) continue;
    sum = {
      requests: sum.requests + each.requests,
      tool_calls: sum.tool_calls + each.tool_calls,
      input_tokens: sum.input_tokens + each.input_tokens,
      output_tokens: sum.output_tokens + each.output_tokens,
      cost: each.cost === null ? sum.cost : (sum.cost ?? 0) + each.cost,
      unpriced_requests: sum.unpriced_requests + each.unpriced_requests,
    };
  }
  return sum;
}

export const tokensOf = (usage: UsageInfo): number => usage.input_tokens + usage.output_tokens;

/** A number on little space: 1,234 is "1.2K". */
export function compact(value: number, locale?: string): string {
  return new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

/** An amount of US dollars: with two digits that count, however small it is. */
export function dollars(cost: number, locale?: string): string {
  const digits = cost === 0 || cost >= 0.1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(cost)));
  const style = { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" } as const;
  return new Intl.NumberFormat(locale, { ...style, minimumFractionDigits: 2, maximumFractionDigits: digits }).format(
    cost,
  );
}

/**
 * The cost of a usage for people. Empty if no price is known; "at least" if the price of some requests is not known.
 */
export function costText({ cost, unpriced_requests: unpriced }: UsageInfo, locale?: string): string {
  if (cost === null) return "";
  return unpriced > 0 ? usageTexts.atLeast(dollars(cost, locale)) : usageTexts.about(dollars(cost, locale));
}

/** A usage on one line. */
export function usageLine(usage: UsageInfo, locale?: string): string {
  const cost = costText(usage, locale);
  return [usageTexts.tokens(compact(tokensOf(usage), locale)), ...(cost === "" ? [] : [cost])].join(" · ");
}
