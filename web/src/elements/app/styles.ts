import { css } from "lit";
import { baseStyles } from "../shared/base-styles.ts";
import { buttonStyles } from "../shared/button-styles.ts";
import { themeStyles } from "../shared/theme-styles.ts";
import { formStyles } from "../form/styles.ts";
import { dialogStyles } from "../token-dialog/styles.ts";

const layoutStyles = css`
  :host {
    display: grid;
    grid-template: minmax(0, 1fr) / minmax(0, 1fr);
    --chosen: light-dark(var(--sheet), color-mix(in srgb, var(--ink) 12%, var(--paper)));
    height: 100dvh;
  }
  callboard-sidebar {
    position: fixed;
    inset-block: 0;
    inset-inline-start: 0;
    z-index: 2;
    width: min(300px, 85vw);
    visibility: hidden;
    border-inline-end: 1px solid var(--line);
  }
  callboard-sidebar.open {
    visibility: visible;
    box-shadow: 0 0 40px rgb(0 0 0 / 25%);
  }
  .view {
    display: grid;
    grid-template: minmax(0, 1fr) / minmax(0, 1fr);
    min-height: 0;
  }
  [hidden] {
    display: none;
  }
  .views {
    display: grid;
    gap: 1px;
  }
  .views a {
    display: flex;
    align-items: center;
    justify-content: space-between;
    min-height: 34px;
    padding: 4px 10px;
    color: inherit;
    border-radius: 10px;
    font-size: 0.92rem;
    text-decoration: none;
  }
  .views a:hover {
    background: color-mix(in srgb, var(--ink) 5%, transparent);
  }
  .views a[aria-current] {
    background: var(--chosen);
    box-shadow: var(--shadow);
  }
  .views .badge {
    min-width: 22px;
    padding: 0 7px;
    color: var(--sheet);
    background: var(--wait);
    border-radius: 99px;
    font-size: 0.78rem;
    font-weight: 600;
    text-align: center;
    font-variant-numeric: tabular-nums;
  }
  .timeline-link {
    display: inline-flex;
    flex: none;
    align-items: center;
    min-height: 32px;
    padding-inline: 6px;
    color: var(--faint);
    font-size: 0.92rem;
    font-weight: 500;
    text-decoration: none;
  }
  .timeline-link:hover {
    color: var(--ink);
    text-decoration: underline;
  }
  h1:focus {
    outline: none;
  }
  nav,
  callboard-token-dialog,
  callboard-shortcuts {
    position: absolute;
  }
  label {
    display: block;
    font-size: 0.88rem;
    font-weight: 600;
  }
  .shade {
    position: fixed;
    inset: 0;
    z-index: 1;
    background: rgb(0 0 0 / 30%);
  }
  .menu {
    margin-inline-start: -8px;
    font-size: 1.1rem;
  }
  .settings {
    display: flex;
    flex-wrap: wrap;
    justify-content: space-between;
    border-top: 1px solid var(--line);
    padding-top: 8px;
  }
  .skip {
    position: absolute;
    inset-inline-start: 12px;
    top: 12px;
    z-index: 3;
    box-shadow: var(--shadow);
  }
  .skip:not(:focus) {
    clip-path: inset(50%);
  }
  #shortcuts dl {
    display: grid;
    grid-template-columns: auto 1fr;
    gap: 6px 16px;
    margin: 12px 0 4px;
  }
  #shortcuts dd {
    margin: 0;
  }
  kbd {
    padding: 1px 7px;
    border: 1px solid var(--line);
    border-radius: 6px;
    font: 0.82rem/1.6 var(--mono);
  }
  @media (min-width: 900px) {
    :host {
      grid-template-columns: 270px minmax(0, 1fr);
    }
    callboard-sidebar {
      position: static;
      width: auto;
      visibility: visible;
    }
    .menu,
    .shade {
      display: none;
    }
  }
`;

export const appStyles = [themeStyles, baseStyles, buttonStyles, formStyles, dialogStyles, layoutStyles];
