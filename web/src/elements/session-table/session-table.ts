import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { SessionInfo } from "../../api/wire.ts";
import { NavigateEvent } from "../../events/navigate-event.ts";
import { ago, localTime } from "../../format.ts";
import { type Route, routeQuery } from "../../state/route.ts";
import {
  type Column,
  COLUMNS,
  NEWEST_FIRST,
  nextOrder,
  type Order,
  sortSessions,
  statusOf,
} from "../../state/session-table.ts";
import { compact, costText, tokensOf } from "../../state/usage.ts";
import { operationsTexts as texts } from "../../texts/operations.ts";
import { Part } from "../part/part.ts";
import "../usage/usage.ts";

const NUMBERS: ReadonlySet<Column> = new Set(["calls", "tokens", "cost", "waiting"]);

/**
 * A table of conversations with their usage. A click on the name of a column sorts it; each row has its details.
 *
 * It draws into the element around it, which adds `sessionTableStyles`.
 *
 * @fires callboard-navigate - The person opens a conversation.
 */
export class SessionTableElement extends Part {
  static override properties = {
    sessions: { attribute: false },
    hasMore: { attribute: false },
    order: { state: true },
    opened: { state: true },
  };
  declare sessions: readonly SessionInfo[];
  /** Whether there are sessions that are not in the table. */
  declare hasMore: boolean;
  declare order: Order;
  /** The session whose details are shown; empty for none. */
  declare opened: string;

  constructor() {
    super();
    this.sessions = [];
    this.hasMore = false;
    this.order = NEWEST_FIRST;
    this.opened = "";
  }

  override render(): TemplateResult {
    const isSorted = this.order.column !== NEWEST_FIRST.column || !this.order.isDescending;
    return html`<div class="scrolled" tabindex="0" role="region" aria-label=${texts.table}>
        <table class="sessions">
          <thead>
            <tr>${COLUMNS.map((column) => this.#heading(column))}</tr>
          </thead>
          <tbody>
            ${repeat(
              sortSessions(this.sessions, this.order),
              ({ session_id: id }) => id,
              (session) => this.#row(session),
            )}
          </tbody>
        </table>
      </div>
      ${isSorted && this.hasMore ? html`<p class="hint">${texts.sortedAmong(this.sessions.length)}</p>` : nothing}`;
  }

  #heading(column: Column) {
    const isSorted = this.order.column === column;
    const direction = this.order.isDescending ? "descending" : "ascending";
    const arrow = isSorted ? (this.order.isDescending ? "↓" : "↑") : "";
    return html`<th scope="col" class=${NUMBERS.has(column) ? "number" : ""} data-column=${column}
      aria-sort=${isSorted ? direction : nothing}>
      <button type="button" class="quiet" @click=${() => (this.order = nextOrder(this.order, column))}>
        ${texts.columns[column]} <span aria-hidden="true">${arrow}</span>
      </button>
    </th>`;
  }

  #row(session: SessionInfo) {
    const { session_id: id, usage, calls, waiting } = session;
    const title = session.title || texts.untitled;
    const status = statusOf(session);
    const at = session.last_activity_at ?? session.created_at;
    const isOpen = this.opened === id;
    const follow = (event: MouseEvent) => this.#follow(event, { session: id });
    return html`<tr data-session=${id} data-status=${status}>
        <th scope="row">
          <button type="button" class="quiet more" aria-expanded=${isOpen} aria-label=${texts.details(title)}
            @click=${() => (this.opened = isOpen ? "" : id)}>${isOpen ? "▾" : "▸"}</button
          ><a href=${routeQuery({ session: id })} dir="auto" @click=${follow}>${title}</a>
        </th>
        <td><span class="status">${texts.status[status]}</span></td>
        <td title=${at ? localTime(at) : nothing}>${at ? ago(at) : texts.unknown}</td>
        <td class="number">${calls?.toLocaleString() ?? texts.unknown}</td>
        <td class="number">${usage ? compact(tokensOf(usage)) : texts.unknown}</td>
        <td class="number" title=${usage && usage.cost === null ? texts.unknownCost : nothing}>
          ${(usage && costText(usage)) || texts.unknown}
        </td>
        <td class="number">${Number(waiting ?? 0) || ""}</td>
      </tr>
      ${isOpen ? this.#details(session) : nothing}`;
  }

  #details(session: SessionInfo) {
    const { session_id: id, created_at: created, namespaces, tools, usage } = session;
    return html`<tr class="details">
      <td colspan=${COLUMNS.length}>
        <div class="columns">
          <dl class="facts">
            <dt>${texts.sessionId}</dt><dd><code>${id}</code></dd>
            <dt>${texts.created}</dt><dd>${created ? localTime(created) : texts.unknown}</dd>
            <dt>${texts.namespaces}</dt><dd>${namespaces?.join(", ") ?? texts.all}</dd>
            <dt>${texts.tools}</dt><dd>${tools?.length ?? texts.unknown}</dd>
          </dl>
          <div>
            <callboard-usage detailed .usage=${usage ?? null}></callboard-usage>
            ${usage ? nothing : html`<p class="hint">${texts.notRecorded}</p>`}
          </div>
        </div>
        <p class="links">
          ${this.#link({ session: id }, texts.open)} ${this.#link({ view: "timeline", session: id }, texts.timeline)}
        </p>
      </td>
    </tr>`;
  }

  #link(to: Partial<Route>, text: string) {
    return html`<a href=${routeQuery(to)} @click=${(event: MouseEvent) => this.#follow(event, to)}>${text}</a>`;
  }

  #follow(event: MouseEvent, to: Partial<Route>): void {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab or window
    event.preventDefault();
    this.dispatchEvent(new NavigateEvent(to));
  }
}

customElements.define("callboard-session-table", SessionTableElement);
