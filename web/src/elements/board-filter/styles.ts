import { css } from "lit";

export const filterStyles = css`
  .filter {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px;
  }
  .filter input[type="search"],
  .filter select {
    min-height: 32px;
    padding: 4px 10px;
    color: var(--ink);
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: 9px;
    font: inherit;
    font-size: 0.85rem;
  }
  .filter input[type="search"] {
    width: 220px;
  }
  .toggle {
    color: var(--ink);
    background: var(--sheet);
    cursor: pointer;
  }
  .toggle[aria-pressed="true"] {
    color: var(--focus);
    background: color-mix(in srgb, var(--focus) 10%, var(--sheet));
    border-color: var(--focus);
  }
  .kinds {
    position: relative;
    font-size: 0.85rem;
  }
  .kinds summary {
    display: flex;
    align-items: center;
    line-height: 1.2;
    list-style: none;
  }
  .kinds summary::-webkit-details-marker {
    display: none;
  }
  .kinds summary::after {
    margin-inline-start: 6px;
    content: "▾";
  }
  .choices {
    position: absolute;
    top: 38px;
    inset-inline-start: 0;
    z-index: 3;
    display: grid;
    grid-template-columns: repeat(2, max-content);
    gap: 10px 24px;
    max-height: min(440px, 60vh);
    overflow: auto;
    padding: 14px 18px;
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: var(--round);
    box-shadow: 0 8px 30px rgb(0 0 0 / 18%);
  }
  .choices fieldset {
    margin: 0;
    padding: 0;
    border: none;
  }
  .choices legend {
    padding: 0 0 2px;
    color: var(--faint);
    font-size: 0.78rem;
  }
  .choices label {
    display: flex;
    align-items: center;
    gap: 8px;
    min-height: 32px;
    white-space: nowrap;
    cursor: pointer;
  }
  @media (max-width: 700px) {
    callboard-board-filter {
      flex: 1 0 100%;
    }
    .filter input[type="search"] {
      flex: 1 1 100%;
      min-height: 40px;
      font-size: 1rem;
    }
    .choices {
      position: fixed;
      inset: auto 12px 12px;
      max-height: 70vh;
    }
  }
`;
