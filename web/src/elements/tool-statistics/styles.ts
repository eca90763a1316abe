import { css } from "lit";

export const toolStatisticsStyles = css`
  .totals {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(116px, 1fr));
    gap: 8px;
    margin: 0;
  }
  .totals > div {
    padding: 8px 12px;
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: 10px;
  }
  .totals dt {
    color: var(--faint);
    font-size: 0.75rem;
  }
  .totals dd {
    margin: 0;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
    font-size: 0.95rem;
    font-weight: 600;
    font-variant-numeric: tabular-nums;
  }
  .plots {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr));
    gap: 12px;
  }
  .sheet {
    padding: 8px 14px 12px;
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: var(--round);
  }
  .changes {
    margin: 0;
    padding: 0;
    list-style: none;
    font-size: 0.88rem;
  }
  .changes time {
    margin-inline-end: 10px;
    color: var(--faint);
    font-variant-numeric: tabular-nums;
  }
  .changes [data-state="open"] {
    color: var(--bad);
  }
`;
