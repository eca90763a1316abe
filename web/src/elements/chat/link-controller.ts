import type { ReactiveController, ReactiveControllerHost } from "lit";
import { Problem } from "../../api/problem.ts";
import type { SessionController } from "../../state/session-controller.ts";
import { texts } from "../../texts.ts";
import type { CallElement } from "../call/call.ts";
import type { TimelineElement } from "../timeline/timeline.ts";

const PAGES = 50; // pages of earlier messages that are loaded to find a call

/** What a link names: an execution or a request of a conversation. */
export interface Link {
  readonly session: string;
  readonly call: string;
  readonly request: string;
}

/** The element that shows a conversation, as a link needs it. */
interface LinkHost extends ReactiveControllerHost {
  readonly link: Link;
  readonly renderRoot: ParentNode;
}

/**
 * Follows a link to a call or a request: loads earlier messages until its card is there, opens the groups around it,
 * scrolls to it and highlights it. A request gets the focus.
 */
export class LinkController implements ReactiveController {
  /** Why the link leads nowhere. Empty if it does, or if there is none. */
  notice = "";
  readonly #host: LinkHost;
  readonly #session: SessionController;
  #followed = "";

  constructor(host: LinkHost, session: SessionController) {
    this.#host = host;
    this.#session = session;
    host.addController(this);
  }

  hostUpdated(): void {
    const { session, call, request } = this.#host.link;
    const isThere = this.#session.isReady && this.#session.sessionId === session;
    const name = JSON.stringify([session, call, request]);
    if (!isThere || name === this.#followed) return;
    this.#followed = name;
    this.#tell("");
    if (call !== "" || request !== "") void this.#follow(name, { session, call, request });
  }

  /** Follow the link again. */
  again(): void {
    this.#followed = "";
    this.#host.requestUpdate();
  }

  /** Remove the notice. */
  dismiss(): void {
    this.#tell("");
  }

  async #follow(name: string, link: Link): Promise<void> {
    const ids = await this.#ids(link);
    if (name !== this.#followed) return;
    if (ids === null) return this.#tell(link.request === "" ? texts.noSuchCall : texts.noSuchRequest);
    let key = this.#keyOf(ids);
    for (let page = 0; key === undefined && page < PAGES && this.#session.earlier !== null; page++) {
      const before = this.#session.earlier;
      await this.#session.loadEarlier();
      if (name !== this.#followed || this.#session.earlier === before) break;
      key = this.#keyOf(ids);
    }
    if (name !== this.#followed) return;
    if (key === undefined) return this.#tell(texts.callNotShown);
    await this.#host.updateComplete;
    await this.#show(key, link.request);
  }

  /** The ids of the call that a link names: of its execution, and of the call in the messages. Null if there is none. */
  async #ids({ session, call, request }: Link): Promise<readonly string[] | null> {
    const query = { session_id: session };
    const { conversation, api } = this.#session;
    const owner = conversation.calls.get(conversation.owners.get(request) ?? "")?.executionId;
    try {
      let execution = call || owner || "";
      if (execution === "") {
        const path = `/api/requests/${encodeURIComponent(request)}`;
        execution = (await api.get<{ execution_id: string }>(path, query)).execution_id;
      }
      if (conversation.keys.has(execution)) return [execution];
      const path = `/api/executions/${encodeURIComponent(execution)}`;
      return [execution, (await api.get<{ call_id: string }>(path, query)).call_id];
    } catch (error) {
      return error instanceof Problem ? null : [call];
    }
  }

  #keyOf(ids: readonly string[]): string | undefined {
    const { keys, calls } = this.#session.conversation;
    return ids.map((id) => keys.get(id)).find((key) => key !== undefined && calls.has(key));
  }

  async #show(key: string, request: string): Promise<void> {
    await this.#host.renderRoot.querySelector<TimelineElement>("callboard-timeline")?.revealCall(key);
    const call = this.#host.renderRoot.querySelector<CallElement>(`callboard-call[data-key="${key}"]`);
    if (call === null) return this.#tell(texts.callNotShown);
    await call.updateComplete;
    call.scrollIntoView({ block: "center", behavior: "instant" });
    await new Promise(requestAnimationFrame); // rows that were never drawn have their heights now
    call.scrollIntoView({ block: "center", behavior: "instant" });
    highlight(call);
    if (request === "") return;
    if (call.request === null) return this.#tell(texts.requestClosed);
    call.request.focus();
  }

  #tell(notice: string): void {
    if (notice === this.notice) return;
    this.notice = notice;
    this.#host.requestUpdate();
  }
}

/** Mark the card of a call for a moment. */
export function highlight(call: Element): void {
  const card = call.matches(".card") ? call : call.querySelector(".card");
  card?.classList.add("shown");
  card?.addEventListener("animationend", () => card.classList.remove("shown"), { once: true });
}
