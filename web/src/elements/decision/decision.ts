import { html, nothing } from "lit";
import { isFields } from "../../api/wire.ts";
import { duration, localTime, short, timeOf, title } from "../../format.ts";
import { whoDecided } from "../../state/answered-here.ts";
import { type Decision, STEP } from "../../state/history.ts";
import { texts } from "../../texts.ts";
import { visibleLines } from "../../visible-text.ts";
import { Part } from "../part/part.ts";
import { facts } from "../value/value.ts";

/** What a person decided about a call, who it was, when, and which arguments were changed. */
export class DecisionElement extends Part {
  static override properties = { decision: { attribute: false } };
  declare decision: Decision;

  override render() {
    const { kind, at, waited, isEdited, changes, given } = this.decision;
    const time = waited === null ? "" : texts.afterTime(duration(waited));
    const what = `${texts.decision[kind]}${isEdited ? texts.withChanges : ""}${time}`;
    const isSame = isEdited && changes.length === 0;
    return html`<div class="decision" data-kind=${kind}><p>${what} · <span class="by">${whoDecided(this.decision)}</span> · <time datetime=${at} title=${localTime(at)}>${timeOf(at)}</time></p>
      ${isSame ? html`<p class="hint">${texts.unchanged}</p>` : nothing}
      ${changes.length > 0 ? differenceList(changes) : nothing}
      ${given === null ? nothing : isFields(given) ? facts(given) : html`<p class="given" dir="auto">${short(given)}</p>`}
    </div>`;
  }
}

/** A list of changed fields, each with its value before and after. */
export function differenceList(changes: Decision["changes"]) {
  return html`<dl class="facts changes">
    ${changes.map(
      ([path, before, after]) =>
        html`<dt dir="auto">${visibleLines(path.split(STEP).map(title).join(STEP))}</dt><dd dir="auto"><del><span class="hidden">${texts.was}</span>${visibleLines(short(before))}</del> → <ins><span class="hidden">${texts.is}</span>${visibleLines(short(after))}</ins></dd>`,
    )}
  </dl>`;
}

customElements.define("callboard-decision", DecisionElement);
