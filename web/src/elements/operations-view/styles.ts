import { css } from "lit";
import { sessionTableStyles } from "../session-table/styles.ts";
import { usageStyles } from "../usage/styles.ts";
import { viewStyles } from "../view/styles.ts";

const layoutStyles = css`
  main {
    display: grid;
    align-content: start;
    gap: 28px;
  }
  main > * {
    width: 100%;
    max-width: 1200px;
    min-width: 0;
    margin-inline: auto;
  }
  section {
    display: grid;
    gap: 10px;
    min-width: 0;
  }
  h2 {
    margin: 0;
    font-size: 0.95rem;
    font-weight: 600;
  }
  h2 small {
    margin-inline-start: 8px;
    color: var(--faint);
    font-size: 0.82rem;
    font-weight: 400;
  }
  .hint {
    margin: 0;
    color: var(--faint);
    font-size: 0.88rem;
  }
  .live {
    display: inline-flex;
    align-items: center;
    gap: 7px;
    color: var(--faint);
    font-size: 0.82rem;
  }
  .live::before {
    width: 8px;
    height: 8px;
    background: var(--faint);
    border-radius: 50%;
    content: "";
  }
  .live[data-live="true"]::before {
    background: var(--good);
  }
  .tiles {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(150px, 1fr));
    gap: 10px;
    margin: 0;
  }
  .tile,
  .sheet,
  .about,
  callboard-session-table {
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: var(--round);
  }
  .tile {
    display: flex;
    flex-direction: column;
    min-height: 92px;
    padding: 12px 14px;
    font-variant-numeric: tabular-nums;
  }
  .tile dt {
    color: var(--faint);
    font-size: 0.78rem;
    line-height: 1.3;
  }
  .tile dd {
    margin: 0;
  }
  .figure {
    font-size: 1.3rem;
    font-weight: 600;
    line-height: 1.5;
  }
  .note {
    color: var(--faint);
    font-size: 0.78rem;
    line-height: 1.3;
  }
  .tile[data-tone="bad"] .figure {
    color: var(--bad);
  }
  .tile[data-tone="wait"] .figure {
    color: var(--wait);
  }
  .plots {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(min(100%, 360px), 1fr));
    gap: 12px;
  }
  .sheet {
    padding: 8px 14px 14px;
  }
  callboard-session-table {
    display: block;
    overflow: hidden;
  }
  callboard-session-table > .hint {
    padding: 0 12px 10px;
  }
  #more {
    justify-self: center;
  }
  .about {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 280px), 1fr));
    gap: 12px 40px;
    padding: 16px;
  }
  @media (max-width: 600px) {
    main {
      padding: 14px;
    }
    .tiles {
      grid-template-columns: repeat(2, 1fr);
    }
  }
`;

export const operationsStyles = [...viewStyles, usageStyles, sessionTableStyles, layoutStyles];
