import { css } from "lit";

export const toolSchemasStyles = css`
  .dialects {
    display: flex;
    flex-wrap: wrap;
    gap: 4px;
    margin-bottom: 10px;
  }
  .dialects button {
    font: 500 0.82rem/1.2 var(--mono);
  }
  .dialects [aria-pressed="true"] {
    color: var(--ink);
    background: var(--sheet);
    border-color: var(--line);
  }
  callboard-tool-schemas :is(.code-block pre, .cut) {
    max-height: min(60vh, 40rem);
    white-space: pre-wrap;
  }
  .cut {
    border: 1px solid var(--line);
    background: var(--sheet);
  }
  callboard-tool-schemas .notice {
    color: var(--wait);
    background: color-mix(in srgb, var(--wait) 9%, var(--sheet));
  }
`;
