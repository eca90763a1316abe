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
    position: relative; /* so that hidden texts, which are positioned, do not make the page longer */
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
  .timeline > .user:has(callboard-user-message) {
    width: auto;
    max-width: 100%;
  }
  callboard-user-message {
    display: flex;
    flex-direction: row-reverse;
    flex-wrap: wrap;
    align-items: center;
    gap: 2px 8px;
  }
  callboard-user-message .text {
    max-width: min(85%, 36rem);
  }
  .calls {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 8px;
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .calls:has(> li:not([hidden])) {
    margin-block-start: 6px;
  }
  .group-line {
    display: flex;
    flex-wrap: wrap;
    align-items: baseline;
    gap: 0 10px;
    width: 100%;
    text-align: start;
  }
  .group-count {
    color: var(--ink);
    font-weight: 600;
  }
  .group-count [data-status="failed"] {
    color: var(--bad);
  }
  .group-tools {
    overflow: hidden;
    flex: 1 1 8rem;
    min-width: 0;
    white-space: nowrap;
    text-overflow: ellipsis;
  }
  .chevron {
    align-self: center;
    width: 7px;
    height: 7px;
    border: solid var(--faint);
    border-width: 0 1.5px 1.5px 0;
    rotate: -45deg;
    transition: rotate 0.15s ease;
  }
  .chevron:dir(rtl) {
    rotate: 135deg;
  }
  [aria-expanded="true"] > .chevron {
    rotate: 45deg;
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
