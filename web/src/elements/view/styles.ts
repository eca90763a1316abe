import { css } from "lit";
import { baseStyles } from "../shared/base-styles.ts";
import { buttonStyles } from "../shared/button-styles.ts";
import { themeStyles } from "../shared/theme-styles.ts";

const layoutStyles = css`
  :host {
    display: grid;
    grid-template: auto minmax(0, 1fr) / minmax(0, 1fr);
    height: 100%;
  }
  .top {
    display: flex;
    align-items: center;
    gap: 12px;
    min-height: 56px;
    padding: 8px 20px;
    border-bottom: 1px solid var(--line);
  }
  h1 {
    flex: 1;
    margin: 0;
    font: 600 1.15rem/1.2 var(--serif);
  }
  main {
    position: relative; /* so that hidden texts scroll with the content */
    overflow-y: auto;
    padding: 20px;
  }
  :is(h1, main):focus {
    outline: none;
  }
`;

/** The style sheets of every view: the theme, the header and the scrolling content. */
export const viewStyles = [themeStyles, baseStyles, buttonStyles, layoutStyles];
