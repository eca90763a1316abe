import { css } from "lit";

/**
 * Colours and fonts. A page around the element can set any of them: each has a public name with the prefix `--callboard-`.
 * The attribute `theme` chooses light or dark; without it, the system's preference does.
 */
export const themeStyles = css`
  :host {
    color-scheme: light dark;
    --paper: var(--callboard-paper, light-dark(#faf8f4, #171513));
    --sheet: var(--callboard-sheet, light-dark(#ffffff, #211e1b));
    --ink: var(--callboard-ink, light-dark(#211e1b, #efe9e1));
    --faint: var(--callboard-faint, light-dark(#6a635b, #a79d91));
    --line: var(--callboard-line, light-dark(#e4ded4, #38332d));
    --accent: var(--callboard-accent, light-dark(#9c2b33, #b8444c));
    --accent-ink: var(--callboard-accent-ink, #ffffff);
    --bubble: var(--callboard-bubble, light-dark(#f3e9e4, #38262a));
    --focus: light-dark(#2a5f8f, #7fb8e6);
    --good: light-dark(#2d6a4f, #74c69d);
    --busy: light-dark(#2a5f8f, #7fb8e6);
    --wait: light-dark(#8a5a00, #e9b949);
    --bad: light-dark(#b3261e, #ff8a80);
    --shadow: 0 1px 2px light-dark(rgb(60 40 20 / 6%), rgb(0 0 0 / 30%)), 0 4px 16px light-dark(rgb(60 40 20 / 5%), rgb(0 0 0 / 20%));
    --round: 14px;
    --serif: Georgia, "Iowan Old Style", "Noto Serif", serif;
    --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, monospace;
    font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
    color: var(--ink);
    background: var(--paper);
    overflow-wrap: anywhere;
  }
  :host([theme="light"]) {
    color-scheme: light;
  }
  :host([theme="dark"]) {
    color-scheme: dark;
  }
`;
