import { css } from "lit";

export const timelineStyles = css`
  callboard-timeline,
  callboard-outbox,
  callboard-call,
  callboard-message {
    display: block;
  }
  .timeline {
    display: flow-root;
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .timeline > li + li {
    margin-top: 14px;
  }
  .timeline > li {
    max-width: 100%;
    animation: appear 0.18s ease-out;
  }
  .timeline.long > li {
    content-visibility: auto;
    contain-intrinsic-size: auto 90px;
    animation: none;
  }
  .text {
    margin: 0;
    white-space: pre-wrap;
  }
  .timeline > .user {
    width: fit-content;
    max-width: min(85%, 36rem);
    margin-inline-start: auto;
  }
  .user .text {
    padding: 9px 15px;
    background: var(--bubble);
    border-radius: var(--round);
    border-end-end-radius: 4px;
  }
  .model .text {
    padding: 2px;
  }
  .text[data-live]::after {
    content: "▍";
    color: var(--busy);
    animation: blink 1s steps(2) infinite;
  }
  .note .text {
    padding-inline: 2px;
    color: var(--faint);
    font-size: 0.9rem;
  }
  .note.error .text {
    color: var(--bad);
  }
  @keyframes appear {
    from {
      opacity: 0;
      translate: 0 6px;
    }
  }
  @keyframes blink {
    50% {
      opacity: 0;
    }
  }
`;
