import { css } from "lit";
import { baseStyles } from "../shared/base-styles.ts";
import { buttonStyles } from "../shared/button-styles.ts";
import { themeStyles } from "../shared/theme-styles.ts";

const ownStyles = css`
  :host {
    display: block;
    height: 100%;
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
  input {
    width: 100%;
    min-height: 38px;
    padding: 6px 12px;
    color: inherit;
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: 10px;
    font: inherit;
    font-size: 0.9rem;
  }
  ul {
    flex: 1;
    overflow-y: auto;
    margin: 0;
    padding: 0;
    list-style: none;
  }
  a {
    display: grid;
    gap: 1px;
    padding: 8px 10px;
    color: inherit;
    border-radius: 10px;
    text-decoration: none;
  }
  a:hover {
    background: color-mix(in srgb, var(--ink) 5%, transparent);
  }
  a[aria-current] {
    background: var(--sheet);
    box-shadow: var(--shadow);
  }
  .name {
    overflow: hidden;
    font-size: 0.92rem;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .meta {
    color: var(--faint);
    font-size: 0.78rem;
  }
  .badge {
    padding: 0 7px;
    color: var(--sheet);
    background: var(--wait);
    border-radius: 99px;
    font-weight: 600;
  }
  .tools {
    display: flex;
    justify-content: flex-end;
  }
  .tools button {
    font-size: 0.8rem;
  }
`;

export const sidebarStyles = [themeStyles, baseStyles, buttonStyles, ownStyles];
