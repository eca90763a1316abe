import { css } from "lit";

export const eventStyles = css`
  callboard-board-event {
    display: block;
    font-size: 0.88rem;
  }
  callboard-board-event header {
    display: flex;
    align-items: center;
    gap: 8px;
  }
  callboard-board-event h2 {
    flex: 1;
    margin: 0;
    font: 600 1.05rem/1.3 var(--serif);
  }
  callboard-board-event .number {
    color: var(--faint);
    font: 400 0.82rem/1 var(--mono);
  }
  callboard-board-event h3 {
    display: flex;
    align-items: center;
    justify-content: space-between;
    min-height: 32px;
    margin: 14px 0 4px;
    color: var(--faint);
    font-size: 0.8rem;
    font-weight: 600;
  }
  callboard-board-event dl {
    display: grid;
    grid-template-columns: max-content 1fr;
    gap: 3px 16px;
    margin: 10px 0 0;
  }
  callboard-board-event dt {
    color: var(--faint);
  }
  callboard-board-event dd {
    margin: 0;
    font-variant-numeric: tabular-nums;
  }
  callboard-board-event code {
    font: 0.82rem/1.4 var(--mono);
  }
  .links {
    margin: 8px 0 0;
  }
  .links a {
    display: inline-flex;
    align-items: center;
    min-height: 32px;
    color: var(--focus);
  }
  .tree {
    max-height: 46vh;
    overflow: auto;
    padding: 10px 12px;
    background: var(--paper);
    border-radius: 10px;
  }
  .steps {
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .steps button {
    display: grid;
    grid-template-columns: 1fr auto;
    gap: 0 8px;
    width: 100%;
    min-height: 32px;
    padding: 5px 10px;
    color: inherit;
    background: none;
    border: none;
    border-inline-start: 2px solid var(--line);
    border-radius: 0 8px 8px 0;
    font-size: 0.84rem;
    font-weight: 400;
    text-align: start;
  }
  .steps button:hover {
    background: color-mix(in srgb, var(--ink) 5%, transparent);
  }
  .steps [aria-current] {
    background: color-mix(in srgb, var(--focus) 12%, transparent);
    border-color: var(--focus);
  }
  .steps .since {
    color: var(--faint);
    font-variant-numeric: tabular-nums;
  }
  .steps .text {
    grid-column: 1 / -1;
    color: var(--faint);
  }
  .steps [data-failed] :is(.kind, .text) {
    color: var(--bad);
  }
  .steps .more {
    padding: 5px 12px;
    color: var(--faint);
  }
`;
