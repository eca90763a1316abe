import { css } from "lit";

export const toolPageStyles = css`
  .tool-head > * {
    margin: 0;
  }
  .tool-head h2 {
    font: 600 1.15rem/1.4 var(--mono);
    outline: none;
  }
  .tool-topic {
    color: var(--faint);
    font-size: 0.88rem;
  }
  .tool-description {
    max-width: 72ch;
    max-height: 30vh;
    overflow: auto;
    margin-top: 10px !important;
    white-space: pre-line;
  }
  .tool-usage {
    max-width: 72ch;
    margin-top: 10px !important;
    padding: 8px 12px;
    background: var(--bubble);
    border-radius: 10px;
    font-size: 0.9rem;
    white-space: pre-line;
  }
  .breaker {
    margin-top: 12px;
    color: var(--wait);
    background: color-mix(in srgb, var(--wait) 9%, var(--sheet));
  }
  .breaker[data-state="open"] {
    color: var(--bad);
    background: color-mix(in srgb, var(--bad) 9%, var(--sheet));
  }
  .tool-facts {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(min(45%, 168px), 1fr));
    gap: 8px 18px;
    margin: 16px 0 0;
    padding: 12px 0;
    border-block: 1px solid var(--line);
    font-size: 0.86rem;
  }
  .tool-facts dt {
    color: var(--faint);
    font-size: 0.75rem;
  }
  .tool-facts dd {
    margin: 0;
  }
  .tabs {
    display: flex;
    gap: 4px;
    margin: 12px 0 16px;
  }
  .tabs button {
    min-height: 36px;
    padding: 4px 14px;
    color: var(--faint);
    background: none;
    border-color: transparent;
    font-weight: 500;
  }
  .tabs button:hover {
    color: var(--ink);
  }
  .tabs [aria-selected="true"] {
    color: var(--ink);
    background: var(--sheet);
    border-color: var(--line);
    font-weight: 600;
  }
  .tab-panel h3 {
    margin: 22px 0 8px;
    font-size: 0.88rem;
    font-weight: 600;
  }
  callboard-tool-statistics > h3:first-child {
    margin-top: 0;
  }
`;
