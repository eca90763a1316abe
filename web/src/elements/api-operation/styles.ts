import { css } from "lit";

export const apiOperationStyles = css`
  article {
    display: grid;
    gap: 20px;
    min-width: 0;
  }
  article > * {
    min-width: 0;
  }
  article h2 {
    margin: 0;
    font: 600 1.25rem/1.3 var(--serif);
  }
  article h2:focus {
    outline: none;
  }
  article h3 {
    margin: 0;
    font-size: 0.92rem;
    font-weight: 600;
  }
  article h4 {
    margin: 0;
    font-size: 0.85rem;
    font-weight: 600;
  }
  .address {
    display: flex;
    align-items: baseline;
    gap: 8px;
    margin: 4px 0 0;
  }
  .address code {
    font: 0.88rem var(--mono);
  }
  .try,
  .command,
  .response {
    display: grid;
    gap: 12px;
    padding: 16px;
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: var(--round);
  }
  .try .fields {
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 260px), 1fr));
  }
  .try :is(input, select):not([type="checkbox"]) {
    min-height: 38px;
    padding-block: 6px;
  }
  .try .field:has(textarea) {
    grid-column: 1 / -1;
  }
  .heading {
    display: flex;
    align-items: center;
    gap: 8px;
  }
  .heading > :first-child {
    flex: 1;
  }
  .actions {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px;
  }
  .command pre {
    margin: 0;
  }
  .command .check {
    display: flex;
    align-items: center;
    gap: 8px;
    min-height: 32px;
    font-size: 0.88rem;
  }
  .command button {
    justify-self: start;
  }
  .responses {
    display: grid;
    gap: 6px;
    margin: 8px 0 0;
    padding: 0;
    list-style: none;
    font-size: 0.88rem;
  }
  .responses .hint {
    display: inline;
    margin-inline-start: 6px;
  }
  .responses summary {
    min-height: 32px;
    line-height: 32px;
  }
  .code {
    color: var(--code-tone, var(--ink));
    font: 600 0.88rem var(--mono);
  }
  .code[data-tone="good"] {
    --code-tone: var(--good);
  }
  .code[data-tone="bad"] {
    --code-tone: var(--bad);
  }
  article table {
    font-size: 0.82rem;
  }
  dialog {
    max-width: min(460px, 92vw);
    padding: 20px;
    color: var(--ink);
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: var(--round);
  }
  dialog::backdrop {
    background: rgb(0 0 0 / 40%);
  }
`;
