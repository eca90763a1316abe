import { css } from "lit";
import { baseStyles } from "../shared/base-styles.ts";
import { buttonStyles } from "../shared/button-styles.ts";
import { themeStyles } from "../shared/theme-styles.ts";

const layoutStyles = css`
  :host {
    display: block;
    height: 100dvh;
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
`;

export const appStyles = [themeStyles, baseStyles, buttonStyles, layoutStyles];
