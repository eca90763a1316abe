import { html, nothing } from "lit";
import { duration, localTime, short, title } from "../../format.ts";
import type { Decision } from "../../state/history.ts";
import { texts } from "../../texts.ts";
import { Part } from "../part/part.ts";

/** What a person decided about a call, when, and which arguments were changed. */
export class DecisionElement extends Part {
  static override properties = { decision: { attribute: false } };
  declare decision: Decision;

  override render() {
    const { kind, at, waited, isEdited, changes } = this.decision;
    const time = waited === null ? "" : texts.afterTime(duration(waited));
    const what = `${texts.decision[kind]}${isEdited ? texts.withChanges : ""}${time}`;
    const isSame = isEdited && changes.length === 0;
    return html`<div class="decision" data-kind=${kind}><p title=${localTime(at)}>${what}</p>
      ${isSame ? html`<p class="hint">${texts.unchanged}</p>` : nothing}
      ${changes.length > 0 ? differenceList(changes) : nothing}
    </div>`;
  }
}

/** A list of changed fields, each with its value before and after. */
export function differenceList(changes: Decision["changes"]) {
  return html`<dl class="facts changes">
    ${changes.map(
      ([name, before, after]) =>
        html`<dt>${title(name)}</dt><dd><del><span class="hidden">${texts.was}</span>${short(before)}</del> → <ins><span class="hidden">${texts.is}</span>${short(after)}</ins></dd>`,
    )}
  </dl>`;
}

customElements.define("callboard-decision", DecisionElement);
