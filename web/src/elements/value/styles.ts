import { css } from "lit";

export const valueStyles = css`
  .facts {
    display: grid;
    grid-template-columns: fit-content(38%) 1fr;
    gap: 1px 14px;
    margin: 0;
    font-size: 0.9rem;
  }
  .facts dt {
    color: var(--faint);
  }
  .facts dd {
    margin: 0;
    white-space: pre-wrap;
  }
  .value {
    margin: 0;
    white-space: pre-wrap;
  }
  .failure {
    margin: 0;
    color: var(--bad);
    white-space: pre-wrap;
  }
  details {
    font-size: 0.88rem;
  }
  summary {
    color: var(--faint);
    cursor: pointer;
  }
  pre {
    max-height: 24rem;
    overflow: auto;
    margin: 8px 0 0;
    padding: 10px;
    background: var(--paper);
    border-radius: 8px;
    font-size: 0.82rem;
    white-space: pre-wrap;
  }
  .scrolled {
    max-height: 24rem;
    overflow: auto;
  }
  .scrolled thead th {
    position: sticky;
    inset-block-start: 0;
    background: var(--sheet);
  }
  td[data-number] {
    font-variant-numeric: tabular-nums;
  }
  .result .value {
    max-height: 24rem;
    overflow: auto;
  }
  .value.markdown {
    white-space: normal;
  }
  .value a,
  .facts a {
    color: var(--focus);
    text-underline-offset: 0.15em;
  }
  .value-tools {
    display: flex;
    flex-wrap: wrap;
    gap: 4px;
    margin-block-start: 4px;
  }
  .value-tools .quiet,
  .more {
    margin-inline-start: -10px;
    font-size: 0.82rem;
  }
  .value-tools .quiet + .quiet {
    margin-inline-start: 0;
  }
  .picture {
    display: block;
    max-width: 100%;
    max-height: 24rem;
    border-radius: 8px;
  }
  .preview-json {
    color: var(--faint);
    opacity: 0.85;
  }
  table {
    border-collapse: collapse;
    font-size: 0.9rem;
  }
  th,
  td {
    padding: 5px 12px 5px 0;
    border-bottom: 1px solid var(--line);
    text-align: start;
    vertical-align: top;
  }
  th {
    color: var(--faint);
    font-weight: 600;
  }
  .json {
    font: 0.82rem/1.5 var(--mono);
  }
  .json summary {
    min-height: 1.5em;
  }
  .json ul {
    margin: 0;
    padding-inline-start: 1.2em;
    list-style: none;
  }
  .json .name {
    color: var(--busy);
  }
  .json details {
    display: inline-block;
    vertical-align: top;
  }
`;
