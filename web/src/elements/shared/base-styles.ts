import { css } from "lit";

export const baseStyles = css`
  * {
    box-sizing: border-box;
  }
  [hidden] {
    display: none !important;
  }
  :focus-visible {
    outline: 2px solid var(--focus);
    outline-offset: 2px;
  }
  .hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    margin: -1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  .notice {
    margin: 0;
    padding: 8px 12px;
    border-radius: 10px;
    font-size: 0.9rem;
  }
  .notice.error {
    color: var(--bad);
    background: color-mix(in srgb, var(--bad) 10%, var(--sheet));
  }
  @media (prefers-reduced-motion: reduce) {
    *,
    ::before,
    ::after {
      animation: none !important;
      transition: none !important;
      scroll-behavior: auto !important;
    }
  }
`;
