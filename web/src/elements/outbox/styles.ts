import { css } from "lit";

export const outboxStyles = css`
  .unsent .text {
    opacity: 0.75;
  }
  .unsent[data-state="failed"] .text {
    opacity: 1;
    outline: 1px solid var(--bad);
    outline-offset: -1px;
  }
  .unsent[data-state="failed"] .sent {
    color: var(--bad);
  }
  .delivery {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    justify-content: flex-end;
    gap: 4px;
    min-height: 24px;
    color: var(--faint);
    font-size: 0.82rem;
  }
  #outbox:has(> li) {
    margin-top: 14px;
  }
`;
