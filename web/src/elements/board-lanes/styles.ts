import { css } from "lit";

export const lanesStyles = css`
  [data-colour="ink"] {
    color: var(--ink);
  }
  [data-colour="faint"] {
    color: var(--faint);
  }
  [data-colour="line"] {
    color: var(--line);
  }
  [data-colour="sheet"] {
    color: var(--sheet);
  }
  [data-colour="paper"] {
    color: var(--paper);
  }
  [data-colour="good"] {
    color: var(--good);
  }
  [data-colour="busy"] {
    color: var(--busy);
  }
  [data-colour="wait"] {
    color: var(--wait);
  }
  [data-colour="bad"] {
    color: var(--bad);
  }
  [data-colour="focus"] {
    color: var(--focus);
  }
  callboard-board-lanes {
    position: relative;
    display: grid;
    grid-template-rows: auto minmax(0, auto) auto;
    min-height: 0;
    max-height: 48vh;
    border-bottom: 1px solid var(--line);
    background: var(--sheet);
  }
  .bar {
    display: flex;
    align-items: center;
    gap: 8px;
    padding: 6px 12px 6px 72px;
    border-bottom: 1px solid var(--line);
  }
  #overview {
    flex: 1;
    width: 0;
    height: 32px;
    border-radius: 6px;
    background: var(--paper);
    cursor: col-resize;
    touch-action: none;
  }
  .zoom {
    display: flex;
  }
  .zoom button {
    width: 32px;
    padding: 0;
    font-size: 1.05rem;
  }
  #lanes {
    overflow-x: hidden;
    overflow-y: auto;
  }
  #lanes:focus-visible {
    outline-offset: -2px;
  }
  .room {
    min-height: 60px;
  }
  #lane-canvas {
    position: sticky;
    top: 0;
    display: block;
    width: 100%;
    cursor: grab;
    touch-action: pan-y;
  }
  #lane-canvas:active {
    cursor: grabbing;
  }
  #lane-canvas.pointed {
    cursor: pointer;
  }
  .tip {
    position: absolute;
    top: 0;
    left: 0;
    z-index: 2;
    max-width: 270px;
    max-height: 220px;
    overflow: hidden;
    margin: 0;
    padding: 7px 10px;
    color: var(--paper);
    background: var(--ink);
    border-radius: 8px;
    font-size: 0.78rem;
    font-variant-numeric: tabular-nums;
    line-height: 1.45;
    pointer-events: none;
    white-space: pre-line;
  }
  .tip::first-line {
    font-weight: 600;
  }
  .legend {
    display: flex;
    flex-wrap: wrap;
    gap: 4px 16px;
    margin: 0;
    padding: 6px 12px 6px 72px;
    border-top: 1px solid var(--line);
    color: var(--faint);
    font-size: 0.75rem;
    list-style: none;
  }
  .legend li {
    display: flex;
    align-items: center;
    gap: 6px;
  }
  .swatch {
    width: 18px;
    height: 10px;
    border-radius: 3px;
  }
  .swatch.work {
    background: var(--busy);
  }
  .swatch.good {
    background: var(--good);
  }
  .swatch.bad {
    background: var(--bad);
  }
  .swatch.queue {
    background: radial-gradient(circle, var(--faint) 0.8px, transparent 1px) 0 0 / 4px 4px
      color-mix(in srgb, var(--faint) 14%, transparent);
  }
  .swatch.person {
    background: repeating-linear-gradient(135deg, var(--wait) 0 1.6px, color-mix(in srgb, var(--wait) 25%, transparent) 1.6px 4.2px);
  }
  .swatch.pause {
    height: 2px;
    background: var(--bad);
  }
  @media (max-width: 700px) {
    callboard-board-lanes {
      display: none;
    }
  }
`;
