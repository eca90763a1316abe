import { css } from "lit";
import { apiOperationStyles } from "../api-operation/styles.ts";
import { apiResponseStyles } from "../api-response/styles.ts";
import { formStyles } from "../form/styles.ts";
import { valueStyles } from "../value/styles.ts";
import { viewStyles } from "../view/styles.ts";

const layoutStyles = css`
  .document {
    color: var(--faint);
    font: 0.82rem var(--mono);
  }
  main {
    display: grid;
    grid-template-columns: minmax(250px, 320px) minmax(0, 1fr);
    overflow: hidden;
    padding: 0;
  }
  .content {
    overflow-y: auto;
    padding: 20px;
  }
  nav {
    overflow-y: auto;
    padding: 12px;
    border-inline-end: 1px solid var(--line);
  }
  nav h2 {
    margin: 14px 8px 4px;
    color: var(--faint);
    font-size: 0.78rem;
    font-weight: 600;
  }
  nav ul {
    margin: 0;
    padding: 0;
    list-style: none;
  }
  nav a {
    display: grid;
    grid-template-columns: 52px minmax(0, 1fr);
    align-items: start;
    gap: 8px;
    min-height: 32px;
    padding: 5px 8px;
    color: inherit;
    border-radius: 8px;
    font-size: 0.86rem;
    line-height: 1.35;
    text-decoration: none;
  }
  nav a:hover {
    background: color-mix(in srgb, var(--line) 40%, transparent);
  }
  nav [aria-current] a {
    background: color-mix(in srgb, var(--line) 70%, transparent);
  }
  nav .name {
    display: grid;
  }
  nav code {
    color: var(--faint);
    font: 0.74rem var(--mono);
  }
  nav input {
    min-height: 36px;
    margin: 0;
    padding: 6px 10px;
    font-size: 0.88rem;
  }
  .method {
    padding-top: 2px;
    color: var(--tone);
    font: 600 0.72rem var(--mono);
  }
  [data-method="GET"] {
    --tone: var(--busy);
  }
  [data-method="POST"] {
    --tone: var(--good);
  }
  :is([data-method="PATCH"], [data-method="PUT"]) {
    --tone: var(--wait);
  }
  [data-method="DELETE"] {
    --tone: var(--bad);
  }
  .content > * {
    display: block;
    max-width: 820px;
    margin-inline: auto;
  }
  .back {
    display: none;
    min-height: 32px;
    color: var(--faint);
    font-size: 0.88rem;
  }
  .hint {
    margin: 0;
    color: var(--faint);
    font-size: 0.85rem;
  }
  @media (max-width: 760px) {
    main {
      grid-template-columns: minmax(0, 1fr);
    }
    nav {
      border: 0;
    }
    [data-chosen="true"] nav,
    [data-chosen="false"] .content {
      display: none;
    }
    .back {
      display: block;
    }
    .content {
      padding: 14px;
    }
  }
`;

export const apiExplorerStyles = [
  ...viewStyles,
  valueStyles,
  formStyles,
  apiOperationStyles,
  apiResponseStyles,
  layoutStyles,
];
