import { css } from "lit";
import { baseStyles } from "../shared/base-styles.ts";
import { buttonStyles } from "../shared/button-styles.ts";
import { themeStyles } from "../shared/theme-styles.ts";
import { dialogStyles } from "../token-dialog/styles.ts";

const layoutStyles = css`
  :host {
    display: grid;
    grid-template: minmax(0, 1fr) / minmax(0, 1fr);
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
  callboard-shortcuts {
    position: absolute;
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
    inset-inline-start: -999px;
  }
  .skip:focus {
    inset-inline-start: 12px;
    top: 12px;
    z-index: 3;
    padding: 8px 12px;
    background: var(--sheet);
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

export const appStyles = [themeStyles, baseStyles, buttonStyles, dialogStyles, layoutStyles];
