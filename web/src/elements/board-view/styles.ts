import { css } from "lit";
import { eventStyles } from "../board-event/styles.ts";
import { filterStyles } from "../board-filter/styles.ts";
import { lanesStyles } from "../board-lanes/styles.ts";
import { listStyles } from "../board-list/styles.ts";
import { valueStyles } from "../value/styles.ts";
import { viewStyles } from "../view/styles.ts";

const layoutStyles = css`
  h1 {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .of {
    margin-inline-start: 6px;
    color: var(--faint);
    font: 400 0.92rem/1.2 system-ui, sans-serif;
  }
  main {
    position: relative;
    display: grid;
    grid-template: auto auto auto minmax(0, 1fr) / minmax(0, 1fr) auto;
    overflow: hidden;
    padding: 0;
  }
  .tools,
  .offline {
    grid-column: 1 / -1;
  }
  .tools {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px 16px;
    padding: 8px 20px;
    border-bottom: 1px solid var(--line);
  }
  .count {
    margin: 0;
    margin-inline-start: auto;
    color: var(--faint);
    font-size: 0.82rem;
    font-variant-numeric: tabular-nums;
  }
  .offline {
    grid-row: 2;
    margin: 8px 20px;
    color: var(--wait);
    background: color-mix(in srgb, var(--wait) 10%, var(--sheet));
  }
  callboard-board-lanes {
    grid-row: 3;
    grid-column: 1;
  }
  callboard-board-list,
  .no-match {
    grid-row: 4;
    grid-column: 1;
  }
  .no-match {
    align-self: start;
    justify-self: center;
    margin: 32px;
    color: var(--faint);
  }
  aside {
    grid-row: 3 / -1;
    grid-column: 2;
    width: min(400px, 38vw);
    overflow-y: auto;
    padding: 14px 18px 24px;
    background: var(--sheet);
    border-inline-start: 1px solid var(--line);
  }
  .nothing {
    grid-column: 1 / -1;
    grid-row: 1 / -1;
    place-self: center;
    max-width: 46ch;
    padding: 20px;
    color: var(--faint);
    text-align: center;
  }
  .nothing p {
    margin: 0 0 8px;
  }
  .nothing .reason {
    color: var(--bad);
    font-size: 0.9rem;
  }
  .switch,
  .toggle {
    min-height: 32px;
    padding: 4px 10px;
    border: 1px solid var(--line);
    border-radius: 9px;
    font-size: 0.85rem;
    font-weight: 500;
  }
  .switch {
    display: flex;
    align-items: center;
    gap: 8px;
    color: var(--faint);
    background: none;
    border-color: transparent;
  }
  .switch::before {
    width: 26px;
    height: 15px;
    background: radial-gradient(circle at 7.5px, var(--sheet) 5px, transparent 5.5px) var(--faint);
    border-radius: 8px;
    content: "";
  }
  .switch[aria-checked="true"] {
    color: var(--ink);
  }
  .switch[aria-checked="true"]::before {
    background: radial-gradient(circle at 18.5px, var(--sheet) 5px, transparent 5.5px) var(--good);
  }
  .to-chat {
    padding: 6px 10px;
    color: var(--faint);
    border-radius: 9px;
    font-size: 0.85rem;
    text-decoration: none;
  }
  .to-chat:hover {
    color: var(--ink);
  }
  @media (max-width: 700px) {
    .top {
      gap: 6px;
      padding-inline: 12px;
    }
    #skip-idle,
    .of {
      display: none;
    }
    .tools {
      padding-inline: 12px;
    }
    aside {
      position: absolute;
      inset: 0;
      z-index: 2;
      width: auto;
      border: none;
    }
  }
`;

/** The style sheets of the timeline and its parts. */
export const boardStyles = [
  ...viewStyles,
  valueStyles,
  layoutStyles,
  filterStyles,
  lanesStyles,
  listStyles,
  eventStyles,
];
