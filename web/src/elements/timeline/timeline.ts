import { html, nothing, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import type { ToolInfo } from "../../api/wire.ts";
import { RetryTurnEvent } from "../../events/retry-turn-event.ts";
import type { Conversation, Item, MessageItem, NoticeItem } from "../../state/conversation.ts";
import type { AnswerState } from "../../state/session-controller.ts";
import { texts } from "../../texts.ts";
import "../call/call.ts";
import "../message/message.ts";
import type { MessageElement } from "../message/message.ts";
import { Part } from "../part/part.ts";

/** Items above which those outside of the window are not laid out. */
const MANY = 200;
const RUN = 100;
const NO_REPORTS: MessageElement["reports"] = [];

/**
 * The items of a conversation in order: messages, calls and notices.
 *
 * @fires callboard-cancel-call - The person cancels a call.
 * @fires callboard-answer - The person answers a request.
 * @fires callboard-retry-turn - The person asks for another try after a failed turn.
 * @fires callboard-show-call - The person asks for the card of a call.
 */
export class TimelineElement extends Part {
  static override properties = {
    conversation: { attribute: false },
    tools: { attribute: false },
    answers: { attribute: false },
    cancelling: { attribute: false },
  };
  declare conversation: Conversation;
  declare tools: ReadonlyMap<string, ToolInfo>;
  declare answers: ReadonlyMap<string, AnswerState>;
  declare cancelling: ReadonlySet<string>;

  override render(): TemplateResult {
    const isLong = this.conversation.items.length > MANY;
    return html`<ol class="timeline ${isLong ? "long" : ""}" id="timeline" aria-label=${texts.conversation}>
      ${repeat(
        runsOf(this.conversation.items),
        ([first]) => first?.key,
        (run) =>
          guard(this.#contentOf(run), () =>
            repeat(
              run,
              ({ key }) => key,
              (item) => this.#item(item),
            ),
          ),
      )}
    </ol>`;
  }

  /** Everything that the items of a run show. While it is the same, the run is not rendered again. */
  #contentOf(run: readonly Item[]): unknown[] {
    const { calls } = this.conversation;
    const hasCalls = run.some(({ type }) => type === "call");
    const shown = run.map((item) => (item.type === "call" ? calls.get(item.key) : item));
    return hasCalls ? [...shown, this.tools, this.answers, this.cancelling] : shown;
  }

  #item(item: Item) {
    switch (item.type) {
      case "message":
        return this.#message(item);
      case "notice":
        return this.#notice(item);
      case "call":
        return this.#call(item.key);
    }
  }

  #message({ role, text, isLive, reports }: MessageItem) {
    return role === "user"
      ? html`<li class="user"><span class="hidden">${texts.you}</span><p class="text" dir="auto">${text}</p></li>`
      : html`<li class="model">
          <span class="hidden">${texts.model}</span>
          <callboard-message .text=${text} .isLive=${isLive} .reports=${this.#named(reports)}></callboard-message>
        </li>`;
  }

  /** The tools of executions. The list is the same object while there is nothing to name. */
  #named(reports: readonly string[]): MessageElement["reports"] {
    if (reports.length === 0) return NO_REPORTS;
    const { calls, keys } = this.conversation;
    return reports
      .map((id): [string, string | undefined] => [id, calls.get(keys.get(id) ?? "")?.tool])
      .filter((each): each is [string, string] => each[1] !== undefined);
  }

  #notice({ level, text, canRetry }: NoticeItem) {
    return html`<li class="note ${level}"><p class="text">${text}</p>${canRetry ? this.#retry() : nothing}</li>`;
  }

  #retry() {
    return html`<button type="button" class="quiet retry" @click=${() => this.dispatchEvent(new RetryTurnEvent())}>${texts.retryTurn}</button>`;
  }

  #call(key: string) {
    const call = this.conversation.calls.get(key);
    if (call === undefined) return nothing;
    return html`<li class="call">
      <callboard-call
        data-key=${key}
        .call=${call}
        .info=${this.tools.get(call.tool)}
        .answer=${this.answers.get(call.request?.id ?? "")}
        .isCancelling=${this.cancelling.has(call.executionId ?? "")}
      ></callboard-call>
    </li>`;
  }
}

/** Split items into runs of about a hundred, which stay the same when items are added before or after them. */
function runsOf(items: readonly Item[]): Item[][] {
  const runs: Item[][] = [];
  let last: number | null = null;
  for (const item of items) {
    const number = Math.floor(Number(item.key.slice(1)) / RUN);
    if (number === last) runs.at(-1)?.push(item);
    else runs.push([item]);
    last = number;
  }
  return runs;
}

customElements.define("callboard-timeline", TimelineElement);
