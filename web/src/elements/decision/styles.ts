import { css } from "lit";

export const decisionStyles = css`
  .decision {
    padding: 8px 12px;
    background: var(--paper);
    border-radius: 10px;
    font-size: 0.88rem;
  }
  .decision p {
    margin: 0;
    color: var(--faint);
  }
  .decision p:first-child::before {
    content: "✓ ";
    color: var(--good);
    font-weight: 700;
  }
  .decision:is([data-kind="rejected"], [data-kind="failed"]) p:first-child::before {
    content: "– ";
    color: var(--faint);
  }
  .decision .given,
  .decision .facts {
    margin: 4px 0 0;
    color: var(--ink);
  }
  .changes {
    margin: 6px 0 0;
  }
  .changes del {
    color: var(--faint);
  }
  .changes ins {
    font-weight: 600;
    text-decoration: none;
  }
`;
