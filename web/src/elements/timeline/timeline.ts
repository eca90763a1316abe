import { html, nothing, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import type { ToolInfo } from "../../api/wire.ts";
import { RetryTurnEvent } from "../../events/retry-turn-event.ts";
import { type Block, blocksOf, type CallGroup } from "../../state/call-groups.ts";
import {
  type Call,
  type Conversation,
  type MessageItem,
  type NoticeItem,
  requestIdOf,
} from "../../state/conversation.ts";
import { openChoices } from "../../state/open-choices.ts";
import { type PageRun, withRun } from "../../state/page-run.ts";
import type { AnswerState } from "../../state/request-answers.ts";
import { texts } from "../../texts.ts";
import "../call/call.ts";
import "../message/message.ts";
import type { MessageElement } from "../message/message.ts";
import "../message/user-message.ts";
import { Part } from "../part/part.ts";
import { callGroup } from "./call-group.ts";

/** Items above which those outside of the window are not laid out. */
const MANY = 200;
const RUN = 100;
const NO_REPORTS: MessageElement["reports"] = [];

/**
 * The items of a conversation in order: messages, calls and notices.
 *
 * @fires callboard-cancel-call - The person cancels a call.
 * @fires callboard-answer - The person answers a request.
 * @fires callboard-page-run - The person decides about a call that this page executes.
 * @fires callboard-retry-turn - The person asks for another try after a failed turn.
 * @fires callboard-show-call - The person asks for the card of a call.
 * @fires callboard-edit-message - The person wants to send a message again, edited.
 */
export class TimelineElement extends Part {
  static override properties = {
    conversation: { attribute: false },
    tools: { attribute: false },
    answers: { attribute: false },
    cancelling: { attribute: false },
    choices: { state: true },
    runs: { attribute: false },
  };
  declare conversation: Conversation;
  declare tools: ReadonlyMap<string, ToolInfo>;
  declare answers: ReadonlyMap<string, AnswerState>;
  declare cancelling: ReadonlySet<string>;
  /** What this page does with calls of its own tools, by execution. */
  declare runs: ReadonlyMap<string, PageRun>;
  /** Counts what the reader has opened or closed, so that groups are rendered again. */
  declare choices: number;

  constructor() {
    super();
    this.choices = 0;
  }

  /** Make the card of an execution visible, if it is here. A folded group is opened. */
  async reveal(executionId: string): Promise<HTMLElement | null> {
    const key = this.conversation.keys.get(executionId);
    return key === undefined ? null : this.revealCall(key);
  }

  /** Make the card of a call visible, if it is here. A folded group is opened. */
  async revealCall(key: string): Promise<HTMLElement | null> {
    const group = blocksOf(this.conversation).find(
      (block): block is CallGroup => block.type === "group" && block.calls.some((call) => call.key === key),
    );
    if (group !== undefined) this.#choose(group.id, true);
    await this.updateComplete;
    return this.querySelector<HTMLElement>(`[data-key="${key}"] .card`);
  }

  override render(): TemplateResult {
    const isLong = this.conversation.items.length > MANY;
    return html`<ol class="timeline ${isLong ? "long" : ""}" id="timeline" aria-label=${texts.conversation}>
      ${repeat(
        runsOf(blocksOf(this.conversation)),
        ([first]) => first?.key,
        (run) =>
          guard(this.#contentOf(run), () =>
            repeat(
              run,
              ({ key, type }) => key + type,
              (block) => this.#block(block),
            ),
          ),
      )}
    </ol>`;
  }

  /** Everything that the blocks of a run show. While it is the same, the run is not rendered again. */
  #contentOf(run: readonly Block[]): unknown[] {
    const { calls } = this.conversation;
    const hasCalls = run.some(({ type }) => type === "call" || type === "group");
    const shown = run.flatMap((block): unknown[] => {
      if (block.type === "group") return [block.id, block.calls.length, ...block.calls];
      return [block.type === "call" ? calls.get(block.key) : block];
    });
    return hasCalls ? [...shown, this.tools, this.answers, this.cancelling, this.runs, this.choices] : shown;
  }

  #block(block: Block) {
    switch (block.type) {
      case "message":
        return this.#message(block);
      case "notice":
        return this.#notice(block);
      case "call":
        return this.#call(block.key);
      case "group":
        return this.#group(block);
    }
  }

  #group(group: CallGroup) {
    const isOpen = openChoices.get(group.id) ?? false;
    return callGroup(group, {
      isOpen,
      onToggle: () => this.#choose(group.id, !isOpen),
      titleOf: ({ tool }) => this.#titleOf(tool),
      card: (call) => this.#card(call),
    });
  }

  #choose(id: string, isOpen: boolean): void {
    openChoices.set(id, isOpen);
    this.choices += 1;
  }

  #titleOf(tool: string): string {
    return this.tools.get(tool)?.title || tool;
  }

  #message({ role, text, isLive, reports }: MessageItem) {
    return role === "user"
      ? html`<li class="user">
          <span class="hidden">${texts.you}</span><callboard-user-message .text=${text}></callboard-user-message>
        </li>`
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
      .map((id): [string, Call | undefined] => [id, calls.get(keys.get(id) ?? "")])
      .flatMap(([id, call]): [string, string][] => (call === undefined ? [] : [[id, this.#titleOf(call.tool)]]));
  }

  #notice({ level, text, canRetry }: NoticeItem) {
    return html`<li class="note ${level}"><p class="text" dir="auto">${text}</p>${canRetry ? this.#retry() : nothing}</li>`;
  }

  #retry() {
    return html`<button type="button" class="quiet retry" @click=${() => this.dispatchEvent(new RetryTurnEvent())}>${texts.retryTurn}</button>`;
  }

  #call(key: string) {
    const call = this.conversation.calls.get(key);
    if (call === undefined) return nothing;
    return html`<li class="call">${this.#card(call)}</li>`;
  }

  #card(call: Call) {
    const run = this.runs.get(call.executionId ?? "");
    return html`<callboard-call
      data-key=${call.key}
      .call=${withRun(call, run)}
      .run=${run}
      .info=${this.tools.get(call.tool)}
      .answer=${this.answers.get(requestIdOf(call) ?? "")}
      .isCancelling=${this.cancelling.has(call.executionId ?? "")}
    ></callboard-call>`;
  }
}

/** Split blocks into runs of about a hundred, which stay the same when items are added before or after them. */
function runsOf(blocks: readonly Block[]): Block[][] {
  const runs: Block[][] = [];
  let last: number | null = null;
  for (const block of blocks) {
    const number = Math.floor(Number(block.key.slice(1)) / RUN);
    if (number === last) runs.at(-1)?.push(block);
    else runs.push([block]);
    last = number;
  }
  return runs;
}

customElements.define("callboard-timeline", TimelineElement);
