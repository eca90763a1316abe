import { css } from "lit";

export const sessionTableStyles = css`
  .scrolled {
    overflow-x: auto;
  }
  .sessions {
    width: 100%;
    border-collapse: collapse;
    font-size: 0.88rem;
    font-variant-numeric: tabular-nums;
  }
  .sessions :is(th, td) {
    padding: 4px 10px;
    border-bottom: 1px solid var(--line);
    text-align: start;
    white-space: nowrap;
  }
  .sessions thead th {
    padding: 0;
  }
  .sessions thead button {
    width: 100%;
    font-size: 0.78rem;
    text-align: start;
  }
  .sessions .number,
  .sessions .number button {
    text-align: end;
  }
  .sessions tbody th {
    width: 45%;
    min-width: 220px;
    font-weight: 500;
    white-space: normal;
  }
  .sessions tbody tr:hover {
    background: color-mix(in srgb, var(--line) 30%, transparent);
  }
  .sessions a {
    display: inline-block;
    padding-block: 5px;
    color: inherit;
    text-decoration: none;
    vertical-align: middle;
  }
  .sessions a:hover {
    text-decoration: underline;
  }
  .sessions .more {
    min-width: 32px;
    padding: 4px;
    vertical-align: middle;
  }
  .sessions .status {
    display: inline-block;
    padding: 1px 9px;
    color: var(--tone, var(--faint));
    background: color-mix(in srgb, var(--tone, var(--faint)) 12%, var(--sheet));
    border-radius: 99px;
    font-size: 0.78rem;
  }
  [data-status="running"] {
    --tone: var(--busy);
  }
  [data-status="waiting"] {
    --tone: var(--wait);
  }
  .details td {
    padding: 14px 20px 14px 42px;
    white-space: normal;
  }
  .details .columns {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(240px, 1fr));
    gap: 16px 32px;
  }
  .facts {
    display: grid;
    grid-template-columns: max-content 1fr;
    align-content: start;
    gap: 2px 16px;
    margin: 0;
    font-size: 0.88rem;
  }
  .facts dt {
    color: var(--faint);
  }
  .facts dd {
    margin: 0;
  }
  .facts code {
    font: 0.82rem var(--mono);
  }
  .links {
    display: flex;
    gap: 16px;
    margin: 10px 0 0;
  }
  .sessions .links a {
    text-decoration: underline;
  }
  .hint {
    margin: 6px 0 0;
    color: var(--faint);
    font-size: 0.82rem;
  }
`;
