import { css } from "lit";

export const buttonStyles = css`
  button {
    min-height: 44px;
    padding: 6px 16px;
    color: var(--ink);
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: 12px;
    font-family: inherit;
    font-size: 0.92rem;
    font-weight: 600;
    line-height: 1.2;
    cursor: pointer;
  }
  button:hover {
    border-color: var(--faint);
  }
  button:disabled {
    opacity: 0.5;
    cursor: default;
  }
  .send {
    color: var(--accent-ink);
    background: var(--accent);
    border-color: var(--accent);
  }
  .yes {
    color: var(--sheet);
    background: var(--good);
    border-color: var(--good);
  }
  :is(.send, .yes):hover {
    filter: brightness(1.08);
  }
  .stop {
    color: var(--bad);
    background: none;
    border-color: currentcolor;
  }
  .quiet {
    min-height: 32px;
    padding: 4px 10px;
    color: var(--faint);
    background: none;
    border-color: transparent;
    font-weight: 500;
  }
  .quiet:hover {
    color: var(--ink);
    border-color: var(--line);
  }
`;
