import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { ToolInfo } from "../../api/wire.ts";
import type { Conversation, Item, MessageItem, NoticeItem } from "../../state/conversation.ts";
import type { AnswerState } from "../../state/session-controller.ts";
import { texts } from "../../texts.ts";
import "../call/call.ts";
import { Part } from "../part/part.ts";

/**
 * The items of a conversation in order: messages, calls and notices.
 *
 * @fires callboard-cancel-call - The person cancels a call.
 * @fires callboard-answer - The person answers a request.
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
    return html`<ol class="timeline" id="timeline" aria-label=${texts.conversation}>
      ${repeat(
        this.conversation.items,
        ({ key }) => key,
        (item) => this.#item(item),
      )}
    </ol>`;
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

  #message({ role, text, isLive }: MessageItem) {
    return html`<li class=${role}>
      <span class="hidden">${role === "user" ? texts.you : texts.model}</span>
      <p class="text" dir="auto" ?data-live=${isLive}>${text}</p>
    </li>`;
  }

  #notice({ level, text }: NoticeItem) {
    return html`<li class="note ${level}"><p class="text">${text}</p></li>`;
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

customElements.define("callboard-timeline", TimelineElement);
