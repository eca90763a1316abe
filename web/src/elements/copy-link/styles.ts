import { css } from "lit";

export const copyLinkStyles = css`
  .copy-link {
    display: inline-flex;
    align-items: center;
    min-height: 32px;
    padding-inline: 8px;
    color: var(--faint);
    font-size: 0.82rem;
    text-decoration: none;
  }
  .copy-link:hover {
    color: var(--ink);
    text-decoration: underline;
  }
  @media (hover: hover) {
    .card:not(:hover, :focus-within) .copy-link {
      opacity: 0;
    }
  }
`;
