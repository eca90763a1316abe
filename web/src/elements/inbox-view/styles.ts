import { css } from "lit";
import { callStyles } from "../call/styles.ts";
import { decisionStyles } from "../decision/styles.ts";
import { formStyles } from "../form/styles.ts";
import { requestStyles } from "../request/styles.ts";
import { valueStyles } from "../value/styles.ts";
import { viewStyles } from "../view/styles.ts";

const ownStyles = css`
  .column {
    display: grid;
    gap: 32px;
    max-width: 760px;
    margin-inline: auto;
  }
  section {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 12px;
  }
  h2 {
    display: flex;
    align-items: center;
    gap: 8px;
    margin: 0;
    color: var(--faint);
    font-size: 0.82rem;
    font-weight: 600;
    letter-spacing: 0.02em;
  }
  .count {
    padding: 0 8px;
    color: var(--sheet);
    background: var(--wait);
    border-radius: 99px;
    font-size: 0.78rem;
  }
  .hint {
    margin: 0;
    color: var(--faint);
    font-size: 0.88rem;
  }
  .empty {
    padding: 28px 20px;
    text-align: center;
    border: 1px dashed var(--line);
    border-radius: var(--round);
  }
  .empty p {
    margin: 0 0 4px;
  }
  .cards,
  .decided {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 14px;
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .card > header {
    flex-wrap: nowrap;
    align-items: baseline;
    gap: 10px;
  }
  .card strong {
    flex: none;
    max-width: 60%;
    font: 600 0.98rem/1.3 inherit;
    font-family: inherit;
  }
  .where {
    display: flex;
    flex: 1;
    gap: 8px;
    min-width: 0;
    color: var(--faint);
    font-size: 0.85rem;
    white-space: nowrap;
  }
  .conversation {
    overflow: hidden;
    text-overflow: ellipsis;
  }
  .open {
    color: var(--busy);
    font-size: 0.88rem;
  }
  .card .open {
    display: inline-flex;
    align-items: center;
    min-height: 32px;
    padding-inline: 6px;
    margin-inline-end: -6px;
  }
  #fresh {
    justify-self: center;
    min-height: 34px;
    border-radius: 99px;
    color: var(--busy);
    font-size: 0.88rem;
  }
  .pages {
    display: flex;
    align-items: center;
    justify-content: center;
    gap: 12px;
    color: var(--faint);
    font-size: 0.88rem;
    font-variant-numeric: tabular-nums;
  }
  .decided {
    gap: 0;
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: var(--round);
    overflow: hidden;
  }
  .decided > li + li {
    border-top: 1px solid var(--line);
  }
  .decided summary {
    display: flex;
    align-items: baseline;
    gap: 10px;
    padding: 9px 14px;
    color: inherit;
    font-size: 0.9rem;
    list-style: none;
    cursor: pointer;
  }
  .decided summary::-webkit-details-marker {
    display: none;
  }
  .decided summary:hover {
    background: color-mix(in srgb, var(--ink) 4%, transparent);
  }
  .decided summary:focus-visible {
    outline-offset: -2px;
    border-radius: var(--round);
  }
  .outcome {
    flex: none;
    font-weight: 600;
  }
  [data-outcome="approved"] .outcome,
  [data-outcome="answered"] .outcome {
    color: var(--good);
  }
  [data-outcome="rejected"] .outcome {
    color: var(--bad);
  }
  [data-outcome="expired"] .outcome,
  [data-outcome="withdrawn"] .outcome {
    color: var(--faint);
  }
  .what {
    flex: 1;
    min-width: 0;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .what .conversation {
    color: var(--faint);
  }
  .who {
    flex: none;
    color: var(--faint);
    font-size: 0.82rem;
  }
  .decided .content {
    display: grid;
    gap: 8px;
    padding: 2px 14px 14px;
    font-size: 0.9rem;
  }
  @media (max-width: 560px) {
    .decided summary,
    .card > header {
      flex-wrap: wrap;
      row-gap: 0;
    }
    .where {
      order: 3;
      flex-basis: 100%;
    }
    .card strong {
      flex: 1;
      max-width: none;
    }
    .what {
      order: 3;
      flex-basis: 100%;
    }
    .who {
      margin-inline-start: auto;
    }
    .choices button {
      flex: 1 1 auto;
    }
  }
`;

export const inboxStyles = [
  ...viewStyles,
  formStyles,
  valueStyles,
  decisionStyles,
  requestStyles,
  callStyles,
  ownStyles,
];
