import { css } from "lit";
import { baseStyles } from "../shared/base-styles.ts";
import { buttonStyles } from "../shared/button-styles.ts";

const plotStyles = css`
  :host {
    --plot-violet: light-dark(#6b4fa0, #b39ddb);
    --plot-teal: light-dark(#00695c, #4db6ac);
    --plot-rose: light-dark(#ad1457, #f48fb1);
    --plot-olive: light-dark(#5d6400, #cdd56b);
    display: block;
    min-width: 0;
  }
  figure {
    margin: 0;
  }
  figcaption {
    display: flex;
    align-items: center;
    gap: 8px;
    min-height: 32px;
  }
  figcaption strong {
    flex: 1;
    font-size: 0.85rem;
    font-weight: 600;
  }
  figcaption .quiet {
    font-size: 0.78rem;
  }
  .place {
    overflow: hidden;
  }
  .empty {
    display: grid;
    place-items: center;
    margin: 0;
    color: var(--faint);
    border: 1px dashed var(--line);
    border-radius: 10px;
    font-size: 0.85rem;
  }
  .legend {
    display: flex;
    flex-wrap: wrap;
    gap: 2px 16px;
    margin: 4px 0 0;
    padding: 0;
    list-style: none;
    color: var(--faint);
    font-size: 0.78rem;
    font-variant-numeric: tabular-nums;
  }
  .legend .moment {
    min-width: 5ch;
  }
  .legend b {
    color: var(--ink);
    font-weight: 600;
  }
  .swatch {
    display: inline-block;
    width: 10px;
    height: 10px;
    margin-inline-end: 6px;
    border-radius: 3px;
    background: currentcolor;
  }
  .scrolled {
    overflow: auto;
  }
  table {
    width: 100%;
    border-collapse: collapse;
    font-size: 0.8rem;
    font-variant-numeric: tabular-nums;
  }
  th,
  td {
    padding: 4px 10px;
    text-align: end;
    border-bottom: 1px solid var(--line);
  }
  th:first-child {
    text-align: start;
    font-weight: 500;
  }
  thead th {
    position: sticky;
    top: 0;
    color: var(--faint);
    background: var(--sheet);
    font-weight: 600;
  }
`;

/** What uPlot requires of its own elements. */
const uplotStyles = css`
  .uplot {
    width: min-content;
    line-height: 1.5;
  }
  .u-wrap {
    position: relative;
    user-select: none;
  }
  .u-over,
  .u-under,
  .u-axis,
  .u-select {
    position: absolute;
  }
  .u-under {
    overflow: hidden;
  }
  .u-select {
    pointer-events: none;
  }
  canvas {
    position: relative;
    display: block;
    width: 100%;
    height: 100%;
  }
  .u-cursor-x,
  .u-cursor-y,
  .u-cursor-pt {
    position: absolute;
    top: 0;
    left: 0;
    pointer-events: none;
  }
  .u-cursor-x {
    height: 100%;
    border-inline-end: 1px solid var(--faint);
    opacity: 0.6;
  }
  .u-cursor-y {
    display: none;
  }
  .u-cursor-pt {
    border: 0 solid;
    border-radius: 50%;
    background-clip: padding-box !important;
  }
  .u-off {
    display: none;
  }
`;

export const plotElementStyles = [baseStyles, buttonStyles, plotStyles, uplotStyles];
