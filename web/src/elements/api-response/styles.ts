import { css } from "lit";

export const apiResponseStyles = css`
  .outcome {
    display: flex;
    flex-wrap: wrap;
    gap: 4px 16px;
    min-height: 24px;
    margin: 0;
    color: var(--faint);
    font-size: 0.88rem;
    font-variant-numeric: tabular-nums;
  }
  .problem code {
    font: 600 0.85rem var(--mono);
  }
  .raw {
    max-height: 60vh;
    margin: 0;
  }
  .frames {
    display: grid;
    gap: 2px;
    max-height: 50vh;
    overflow: auto;
    margin: 0;
    padding: 0;
    list-style: none;
    font-size: 0.82rem;
  }
  .frames li {
    padding: 4px 0;
    border-bottom: 1px solid var(--line);
  }
  .frames .kind {
    color: var(--busy);
    font: 600 0.8rem var(--mono);
  }
  .frames .hint {
    display: inline;
  }
  .frames code {
    display: block;
    font: 0.78rem/1.5 var(--mono);
  }
`;
