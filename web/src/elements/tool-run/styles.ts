import { css } from "lit";

export const toolRunStyles = css`
  .run-form {
    display: grid;
    gap: 14px;
    padding: 16px;
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: var(--round);
  }
  .run-form > :is(.hint, .notice) {
    margin: 0;
  }
  .examples,
  .run-buttons,
  .again {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 6px;
  }
  .examples .quiet {
    border-color: var(--line);
  }
  .runs > header {
    display: flex;
    flex-wrap: wrap;
    align-items: baseline;
    justify-content: space-between;
    gap: 0 12px;
  }
  .runs a {
    color: var(--focus);
    font-size: 0.85rem;
  }
  .runs ol {
    display: grid;
    gap: 12px;
    margin: 8px 0 0;
    padding: 0;
    list-style: none;
  }
  .runs .notice {
    margin-top: 6px;
  }
  .again {
    margin-top: 2px;
    font-size: 0.85rem;
  }
`;
