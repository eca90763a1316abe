import { css } from "lit";

export const listStyles = css`
  callboard-board-list {
    display: grid;
    grid-template-rows: minmax(0, 1fr);
    min-height: 0;
    container: board-list / inline-size;
  }
  #events {
    overflow-y: auto;
    overflow-anchor: none;
    overscroll-behavior: contain;
  }
  #events:focus-visible {
    outline-offset: -2px;
  }
  .space {
    overflow: hidden;
  }
  .row {
    display: grid;
    grid-template-columns: 94px 96px 150px minmax(90px, 170px) minmax(0, 1fr);
    align-items: center;
    gap: 12px;
    height: 32px;
    padding: 0 20px;
    border-bottom: 1px solid color-mix(in srgb, var(--line) 55%, transparent);
    font-size: 0.84rem;
    cursor: pointer;
  }
  .row > * {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .row:hover {
    background: color-mix(in srgb, var(--ink) 4%, transparent);
  }
  .row[aria-selected="true"] {
    background: color-mix(in srgb, var(--focus) 13%, transparent);
    box-shadow: inset 3px 0 var(--focus);
  }
  .row time,
  .row .since {
    font-variant-numeric: tabular-nums;
  }
  .row time {
    color: var(--faint);
  }
  .row .since {
    color: var(--faint);
    text-align: end;
  }
  .row .kind::before,
  .dot {
    display: inline-block;
    width: 8px;
    height: 8px;
    margin-inline-end: 8px;
    background: var(--faint);
    border-radius: 50%;
    content: "";
  }
  .calls .kind::before,
  .dot.calls {
    background: var(--good);
  }
  .turns .kind::before,
  .dot.turns {
    background: var(--busy);
  }
  .people .kind::before,
  .dot.people {
    background: var(--wait);
  }
  .row[data-failed] .kind::before,
  .dot[data-failed] {
    background: var(--bad);
    border-radius: 1px;
    rotate: 45deg;
  }
  .row[data-failed] :is(.kind, .text) {
    color: var(--bad);
  }
  .row .tool {
    font-weight: 600;
  }
  .row .text {
    color: var(--faint);
  }
  @container board-list (max-width: 860px) {
    .row {
      grid-template-columns: 94px 136px minmax(80px, 116px) minmax(0, 1fr);
    }
    .row .since {
      display: none;
    }
  }
  @container board-list (max-width: 599px) {
    .row {
      grid-template: 1fr 1fr / auto minmax(0, 1fr) auto;
      gap: 0 10px;
      height: 56px;
      padding: 6px 14px;
    }
    .row .since {
      display: none;
    }
    .row .kind {
      grid-area: 1 / 1;
    }
    .row .tool {
      grid-area: 1 / 2;
    }
    .row time {
      grid-area: 1 / 3;
    }
    .row .text {
      grid-area: 2 / 1 / 3 / -1;
    }
  }
`;
