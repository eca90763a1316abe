import { css } from "lit";

export const requestStyles = css`
  .request {
    padding: 12px 14px;
    background: color-mix(in srgb, var(--wait) 9%, var(--sheet));
    border-radius: 10px;
  }
  .question {
    margin: 0 0 10px;
    font-weight: 600;
  }
  .choices {
    display: flex;
    flex-wrap: wrap;
    gap: 8px;
  }
  .request form > .choices,
  .request form > .hint {
    margin-block-start: 10px;
  }
  .choices .quiet {
    min-height: 44px;
    color: var(--ink);
    border-color: var(--line);
  }
  .preview {
    margin-top: 12px;
    padding: 8px 12px;
    background: var(--paper);
    border-radius: 10px;
    font-size: 0.88rem;
  }
  .countdown {
    margin-top: 10px;
    font-variant-numeric: tabular-nums;
  }
  callboard-request > .notice {
    margin-top: 8px;
  }
`;
