import { css } from "lit";

export const walletStyles = css`
  callboard-wallet-request {
    display: block;
  }
  .wallet .headline {
    margin: 0;
    font-size: 1.45rem;
    font-weight: 650;
    line-height: 1.25;
    font-variant-numeric: tabular-nums;
  }
  .wallet .headline code {
    font: 600 1.15rem/1.3 var(--mono);
  }
  .wallet .question {
    margin-block-end: 4px;
    font-size: 0.88rem;
  }
  .wallet .units {
    margin: 0;
    font-variant-numeric: tabular-nums;
  }
  .wallet .hint {
    color: color-mix(in srgb, var(--ink) 75%, var(--sheet));
  }
  .wallet .says {
    margin-block-start: 10px;
  }
  .wallet blockquote {
    margin: 2px 0 0;
    padding-inline-start: 10px;
    border-inline-start: 3px solid color-mix(in srgb, var(--wait) 40%, var(--line));
  }
  .wallet .transaction {
    grid-template-columns: max-content minmax(0, 1fr);
    gap: 5px 16px;
    margin-block: 12px;
    padding-block: 10px;
    border-block: 1px solid color-mix(in srgb, var(--wait) 22%, var(--line));
    font-variant-numeric: tabular-nums;
  }
  .wallet dd {
    white-space: normal;
  }
  .wallet :is(.transaction, .arguments) dt {
    color: color-mix(in srgb, var(--ink) 75%, var(--sheet));
  }
  .wallet code {
    font: 0.86em/1.5 var(--mono);
    overflow-wrap: anywhere;
  }
  .wallet .arguments {
    display: grid;
    grid-template-columns: max-content minmax(0, 1fr);
    gap: 2px 12px;
    margin: 4px 0 0;
    padding-inline-start: 10px;
    border-inline-start: 2px solid var(--line);
  }
  .wallet .arguments dd {
    margin: 0;
  }
  .wallet .tag {
    display: inline-block;
    padding: 0 7px;
    border: 1px solid color-mix(in srgb, var(--ink) 30%, var(--sheet));
    border-radius: 99px;
    font-size: 0.76rem;
  }
  .wallet .warnings {
    display: grid;
    gap: 6px;
    margin: 0 0 12px;
    padding: 0;
    list-style: none;
    font-size: 0.9rem;
  }
  .wallet .warnings li {
    padding: 7px 10px;
    background: color-mix(in srgb, var(--bad) 9%, var(--sheet));
    border-inline-start: 3px solid var(--bad);
    border-radius: 6px;
  }
  .wallet .choices {
    align-items: center;
  }
  .wallet .choices + .hint {
    margin-block-start: 6px;
  }
  .wallet .identity {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 2px 8px;
    margin-block-end: 8px;
    font-size: 0.9rem;
  }
  .wallet .identity .quiet {
    margin-inline-start: auto;
    color: var(--ink);
  }
  .wallet .icon {
    flex: none;
    width: 24px;
    height: 24px;
    border-radius: 6px;
    object-fit: contain;
  }
  .wallet .named {
    display: inline-flex;
    align-items: center;
    gap: 8px;
    vertical-align: middle;
  }
  .wallet:focus {
    outline: none;
  }
  .wallet .state {
    margin: 0 0 8px;
  }
  .wallet .state:empty {
    margin: 0;
  }
  .wallet .strong {
    font-weight: 600;
  }
  .wallet .hash {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0 8px;
    margin-block: 6px 0;
    font-size: 0.9rem;
  }
  .wallet .hash .quiet {
    color: var(--ink);
  }
  .wallet .by-hand {
    margin-block-start: 10px;
  }
  .wallet .by-hand > summary {
    width: fit-content;
    padding-block: 6px;
    color: color-mix(in srgb, var(--ink) 75%, var(--sheet));
  }
  .wallet .by-hand > .hint {
    margin-block-end: 10px;
  }
  .wallet .notice {
    margin-block-end: 8px;
  }
  .wallet form > button {
    margin-block-start: 10px;
    margin-inline-end: 8px;
  }
  @media (max-width: 520px) {
    .wallet .transaction {
      grid-template-columns: minmax(0, 1fr);
      gap: 0;
    }
    .wallet .transaction > dd + dt {
      margin-block-start: 7px;
    }
    .wallet .transaction > dt {
      font-size: 0.82rem;
    }
  }
`;
