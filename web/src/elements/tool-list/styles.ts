import { css } from "lit";

export const toolListStyles = css`
  callboard-tool-list {
    display: grid;
    grid-template: auto minmax(0, 1fr) / minmax(0, 1fr);
    min-height: 0;
  }
  .tool-filters {
    display: grid;
    gap: 4px;
    padding: 12px 12px 8px;
    border-bottom: 1px solid var(--line);
  }
  #tool-search {
    min-height: 40px;
    margin: 0;
  }
  .facets > summary {
    padding: 6px 2px;
    font-size: 0.82rem;
  }
  .facet-fields {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(130px, 1fr));
    gap: 8px;
  }
  .facet-fields label {
    min-width: 0;
    color: var(--faint);
    font-size: 0.78rem;
    font-weight: 600;
  }
  .facet-fields select {
    min-height: 36px;
    margin-top: 2px;
    padding: 4px 8px;
    color: var(--ink);
    font-size: 0.85rem;
  }
  .counted {
    margin: 0;
    padding-inline: 2px;
    color: var(--faint);
    font-size: 0.78rem;
  }
  .tool-list {
    overflow-y: auto;
    padding: 4px 8px 20px;
    overscroll-behavior: contain;
  }
  .tool-list h2 {
    margin: 14px 8px 4px;
    color: var(--faint);
    font-size: 0.75rem;
    font-weight: 600;
  }
  .tool-list ul {
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .tool-list li {
    content-visibility: auto;
    contain-intrinsic-size: auto 54px;
  }
  .tool-list a {
    display: flex;
    flex-wrap: wrap;
    align-items: baseline;
    gap: 0 8px;
    margin: 1px;
    padding: 7px 9px;
    border-radius: 10px;
    color: var(--ink);
    text-decoration: none;
  }
  .tool-list a:hover {
    background: color-mix(in srgb, var(--faint) 9%, transparent);
  }
  .tool-list a[aria-current] {
    background: light-dark(var(--sheet), color-mix(in srgb, var(--ink) 10%, transparent));
    box-shadow: var(--shadow);
  }
  .tool-list a:focus-visible {
    outline-offset: -2px;
  }
  .tool-name {
    flex: 1;
    min-width: 0;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
    font: 600 0.85rem/1.5 var(--mono);
  }
  .tool-about {
    flex: 0 0 100%;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
    color: var(--faint);
    font-size: 0.8rem;
    line-height: 1.4;
  }
  .chip {
    max-width: 14ch;
    padding: 0 7px;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
    color: var(--faint);
    border: 1px solid var(--line);
    border-radius: 99px;
    font-size: 0.72rem;
    line-height: 1.6;
  }
  .chip[data-mode="human"] {
    color: var(--wait);
    border-color: color-mix(in srgb, var(--wait) 40%, var(--line));
  }
  .chip[data-mode="background"] {
    color: var(--busy);
    border-color: color-mix(in srgb, var(--busy) 40%, var(--line));
  }
  .chip[data-mode="browser"] {
    color: var(--good);
    border-color: color-mix(in srgb, var(--good) 40%, var(--line));
  }
`;
