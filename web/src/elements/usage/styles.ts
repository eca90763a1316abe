import { css } from "lit";

export const usageStyles = css`
  .usage {
    color: var(--faint);
    font-size: 0.82rem;
    font-variant-numeric: tabular-nums;
    white-space: nowrap;
  }
  .usage-details {
    display: grid;
    grid-template-columns: max-content 1fr;
    gap: 2px 16px;
    margin: 0;
    font-size: 0.88rem;
    font-variant-numeric: tabular-nums;
  }
  .usage-details dt {
    color: var(--faint);
  }
  .usage-details dd {
    margin: 0;
  }
`;
