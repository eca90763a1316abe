import { css } from "lit";

export const callStyles = css`
  .card {
    --mark: var(--busy);
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 8px;
    padding: 12px 16px;
    background: var(--sheet);
    border: 1px solid var(--line);
    border-inline-start: 4px solid var(--mark);
    border-radius: var(--round);
    box-shadow: var(--shadow);
  }
  .card[data-status="succeeded"] {
    --mark: var(--good);
  }
  .card[data-status="failed"] {
    --mark: var(--bad);
  }
  .card:is([data-status="cancelled"], [data-status="rejected"], [data-status="expired"]) {
    --mark: var(--faint);
  }
  .card:is([data-status="waiting"], [data-status="retrying"]) {
    --mark: var(--wait);
  }
  .card.shown {
    animation: shown 2s ease-out;
  }
  @keyframes shown {
    from {
      outline: 2px solid var(--focus);
      outline-offset: 2px;
    }
  }
  .card > header {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0 10px;
    min-height: 30px;
  }
  .card strong {
    overflow-wrap: break-word;
    font-size: 0.95rem;
    font-weight: 600;
    line-height: 1.3;
  }
  .card .tool {
    color: var(--faint);
    font: 0.8rem/1.3 var(--mono);
  }
  .about {
    margin: 0;
    color: var(--faint);
    white-space: pre-wrap;
  }
  .attempts {
    margin: 0;
    padding: 0;
    list-style: none;
    color: var(--faint);
    font-size: 0.82rem;
    font-variant-numeric: tabular-nums;
  }
  .attempts em {
    color: var(--wait);
    font-style: normal;
  }
  .late-answer {
    color: var(--ink);
    background: color-mix(in srgb, var(--wait) 14%, var(--sheet));
  }
  .status {
    margin-inline-end: auto;
    color: var(--mark);
    font-size: 0.85rem;
    font-weight: 600;
  }
  .place {
    color: var(--faint);
    font-size: 0.85rem;
  }
  .details > summary {
    font-size: 0.82rem;
  }
  .details > * + * {
    margin-top: 6px;
  }
  .result {
    padding-top: 8px;
    border-top: 1px dashed var(--line);
  }
  .stage {
    margin: 0;
    color: var(--faint);
    font-size: 0.88rem;
    font-variant-numeric: tabular-nums;
  }
  .card .notice {
    margin: 0;
  }
  .retry-errors,
  .partials {
    margin: 0;
    padding: 0;
    list-style: none;
    font-size: 0.88rem;
  }
  .retry-errors li {
    color: var(--wait);
  }
  .retry-errors li::before {
    content: "↻ ";
  }
  .partials li:not(.fields)::before {
    content: "✓ ";
    color: var(--good);
  }
  .partials .fields {
    padding-block: 0.4rem;
    border-block-start: 1px dashed var(--line);
  }
  .times {
    font-size: 0.82rem;
    font-variant-numeric: tabular-nums;
  }
  progress {
    display: block;
    width: 100%;
    height: 8px;
    border: 0;
    border-radius: 99px;
    overflow: hidden;
    background: var(--line);
    color: var(--mark);
    accent-color: var(--mark);
    appearance: none;
  }
  progress::-webkit-progress-bar {
    background: var(--line);
    border-radius: 99px;
  }
  progress::-webkit-progress-value {
    background: var(--mark);
    border-radius: 99px;
    transition: width 0.3s ease;
  }
  progress::-moz-progress-bar {
    background: var(--mark);
    border-radius: 99px;
  }
  progress:not([value])::-webkit-progress-bar {
    background: linear-gradient(90deg, var(--line) 20%, var(--mark) 50%, var(--line) 80%) 0 0 / 200% 100%;
    animation: sweep 1.6s linear infinite;
  }
  @keyframes sweep {
    to {
      background-position: -200% 0;
    }
  }
`;
