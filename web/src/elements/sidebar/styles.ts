import { css } from "lit";
import { baseStyles } from "../shared/base-styles.ts";
import { buttonStyles } from "../shared/button-styles.ts";
import { themeStyles } from "../shared/theme-styles.ts";
import { dialogStyles } from "../token-dialog/styles.ts";

/** Pixels of a row, which are the same for all rows. */
export const ROW = 52;

const ownStyles = css`
  :host {
    display: block;
    height: 100%;
    --chosen: light-dark(var(--sheet), color-mix(in srgb, var(--ink) 12%, var(--paper)));
    background: color-mix(in srgb, var(--line) 35%, var(--paper));
  }
  nav {
    display: flex;
    flex-direction: column;
    gap: 10px;
    height: 100%;
    padding: 12px;
  }
  .brand {
    display: flex;
    align-items: center;
    gap: 9px;
    margin: 2px 4px 4px;
    font: 600 1.15rem/1 var(--serif);
  }
  .new {
    min-height: 38px;
    border-radius: 10px;
  }
  input {
    width: 100%;
    min-height: 36px;
    padding: 5px 12px;
    color: inherit;
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: 10px;
    font: inherit;
    font-size: 0.9rem;
  }
  input::placeholder {
    color: var(--faint);
    opacity: 1;
  }
  .empty {
    margin: 4px 10px;
    color: var(--faint);
    font-size: 0.88rem;
  }
  .scroller {
    flex: 1;
    min-height: 0;
    margin-inline: -4px;
    padding-inline: 4px;
    overflow-y: auto;
    overscroll-behavior: contain;
    scrollbar-width: thin;
    scrollbar-color: var(--line) transparent;
  }
  ul {
    position: relative;
    margin: 0;
    padding: 0;
    list-style: none;
  }
  li {
    position: absolute;
    inset-inline: 0;
    height: ${ROW}px;
    padding-block: 1px;
  }
  a {
    display: grid;
    align-content: center;
    gap: 1px;
    height: 100%;
    padding: 0 10px;
    color: inherit;
    border-radius: 10px;
    text-decoration: none;
  }
  li:hover a {
    background: color-mix(in srgb, var(--ink) 5%, transparent);
  }
  li a[aria-current] {
    background: var(--chosen);
    box-shadow: var(--shadow);
  }
  a:focus-visible,
  .rename:focus-visible {
    outline-offset: -2px;
  }
  .name {
    overflow: hidden;
    font-size: 0.92rem;
    line-height: 1.35;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .meta {
    display: flex;
    align-items: center;
    gap: 6px;
    min-width: 0;
    overflow: hidden;
    color: var(--faint);
    font-size: 0.78rem;
    line-height: 1.4;
    white-space: nowrap;
  }
  .meta > * {
    flex: none;
  }
  .meta > .running {
    flex: 0 1 auto;
    overflow: hidden;
    color: var(--busy);
    text-overflow: ellipsis;
  }
  .running::before {
    content: "";
    display: inline-block;
    width: 7px;
    height: 7px;
    margin-inline-end: 5px;
    background: currentcolor;
    border-radius: 50%;
    animation: pulse 1.6s ease-in-out infinite;
  }
  @keyframes pulse {
    50% {
      opacity: 0.35;
    }
  }
  .badge {
    padding: 0 7px;
    color: var(--sheet);
    background: var(--wait);
    border-radius: 99px;
    font-weight: 600;
  }
  .rename {
    height: 100%;
  }
  .tools {
    position: absolute;
    inset-block: 4px;
    inset-inline-end: 3px;
    display: flex;
    align-items: center;
    padding-inline: 18px 4px;
    opacity: 0;
    pointer-events: none;
    border-radius: 10px;
    background: linear-gradient(
      to right,
      transparent,
      color-mix(in srgb, var(--line) 42%, var(--paper)) 16px
    );
  }
  :host(:dir(rtl)) .tools {
    background: linear-gradient(to left, transparent, color-mix(in srgb, var(--line) 42%, var(--paper)) 16px);
  }
  li:is(:hover, :focus-within) .tools {
    opacity: 1;
    pointer-events: auto;
  }
  @media (hover: none) {
    li:has([aria-current]) .tools {
      opacity: 1;
      pointer-events: auto;
    }
  }
  li:has([aria-current]) .tools {
    background: linear-gradient(to right, transparent, var(--chosen) 16px);
  }
  :host(:dir(rtl)) li:has([aria-current]) .tools {
    background: linear-gradient(to left, transparent, var(--chosen) 16px);
  }
  .tools button {
    display: grid;
    place-items: center;
    min-width: 32px;
    padding: 0;
  }
  svg {
    fill: none;
    stroke: currentcolor;
    stroke-width: 1.3;
    stroke-linecap: round;
    stroke-linejoin: round;
  }
`;

export const sidebarStyles = [themeStyles, baseStyles, buttonStyles, dialogStyles, ownStyles];
