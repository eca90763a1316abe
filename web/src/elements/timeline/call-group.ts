import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { type CallGroup, countStatuses, staysVisible } from "../../state/call-groups.ts";
import type { Call } from "../../state/conversation.ts";
import { texts } from "../../texts.ts";

const MAX_NAMES = 4;

/** What a group needs of the timeline. */
export interface GroupView {
  readonly isOpen: boolean;
  readonly onToggle: () => void;
  readonly titleOf: (call: Call) => string;
  readonly card: (call: Call) => TemplateResult;
}

/** A row of ended calls under one line. While it is closed, only failures and decisions of people are visible. */
export function callGroup({ calls, id }: CallGroup, { isOpen, onToggle, titleOf, card }: GroupView): TemplateResult {
  const list = `calls-${id}`;
  return html`<li class="group">
    <button type="button" class="quiet group-line" aria-expanded=${isOpen} aria-controls=${list} @click=${onToggle}>
      <span class="chevron" aria-hidden="true"></span>
      <span class="group-count">${summary(calls)}</span>
      <span class="group-tools" dir="auto">${names(calls.map(titleOf))}</span>
    </button>
    <ol class="calls" id=${list}>
      ${repeat(
        calls,
        ({ key }) => key,
        (call) => html`<li class="call" ?hidden=${!isOpen && !staysVisible(call)}>${card(call)}</li>`,
      )}
    </ol>
  </li>`;
}

/** "4 calls, 1 failed": every end but success is named. */
function summary(calls: readonly Call[]) {
  const others = [...countStatuses(calls)].filter(([status]) => status !== "succeeded");
  return html`${texts.calls(calls.length)}${others.map(
    ([status, count]) => html`, <span data-status=${status}>${texts.callsWith(count, texts.status[status])}</span>`,
  )}`;
}

/** The titles of tools, each once, with the number of its calls. */
function names(titles: readonly string[]) {
  const counts = new Map<string, number>();
  for (const each of titles) counts.set(each, (counts.get(each) ?? 0) + 1);
  const all = [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`));
  const left = all.length - MAX_NAMES;
  return html`${all.slice(0, MAX_NAMES).join(", ")}${left > 0 ? ", …" : nothing}`;
}
