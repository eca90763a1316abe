import { css } from "lit";

export const messageStyles = css`
  .markdown > * {
    margin: 0;
  }
  .markdown > * + * {
    margin-top: 0.7em;
  }
  .markdown {
    white-space: normal;
  }
  .markdown :is(p, li, td, th) {
    white-space: pre-wrap;
  }
  .markdown :is(ul, ol) {
    padding-inline-start: 1.5em;
  }
  .markdown li > :is(ul, ol, callboard-code, blockquote) {
    margin: 0.3em 0;
    white-space: normal;
  }
  .markdown .heading {
    font: 600 1.05rem/1.35 var(--serif);
  }
  .markdown .heading[data-depth="1"] {
    font-size: 1.35rem;
  }
  .markdown .heading[data-depth="2"] {
    font-size: 1.2rem;
  }
  .markdown a {
    color: var(--focus);
    text-underline-offset: 0.15em;
  }
  .markdown code {
    padding: 0.1em 0.35em;
    background: color-mix(in srgb, var(--faint) 12%, var(--sheet));
    border-radius: 5px;
    font: 0.88em/1.4 var(--mono);
  }
  .markdown blockquote {
    padding-inline-start: 12px;
    border-inline-start: 3px solid var(--line);
    color: var(--faint);
  }
  .markdown hr {
    border: 0;
    border-top: 1px solid var(--line);
  }
  .markdown input {
    display: inline-block;
    width: 16px;
    height: 16px;
    min-height: 16px;
    margin-inline-end: 6px;
  }
  .markdown[data-live]::after {
    content: none;
  }
  .markdown[data-live] > :last-child::after {
    content: "▍";
    color: var(--busy);
    animation: blink 1s steps(2) infinite;
  }
  callboard-code {
    display: block;
  }
  .code-block {
    margin: 0;
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: 10px;
    overflow: hidden;
  }
  .code-block figcaption {
    display: flex;
    align-items: center;
    justify-content: space-between;
    padding: 0 4px 0 12px;
    color: var(--faint);
    border-bottom: 1px solid var(--line);
    font: 0.78rem/1.4 var(--mono);
  }
  .code-block pre {
    margin: 0;
    background: none;
    border-radius: 0;
    white-space: pre;
  }
  .code-block code {
    padding: 0;
    background: none;
    font: 0.84rem/1.55 var(--mono);
  }
  :is(.hljs-keyword, .hljs-built_in, .hljs-selector-tag) {
    color: light-dark(#9c2b33, #f0a5a9);
  }
  :is(.hljs-string, .hljs-regexp, .hljs-addition) {
    color: var(--good);
  }
  :is(.hljs-number, .hljs-literal, .hljs-attr, .hljs-attribute, .hljs-variable) {
    color: var(--busy);
  }
  :is(.hljs-title, .hljs-name, .hljs-type, .hljs-section) {
    color: var(--wait);
  }
  :is(.hljs-comment, .hljs-quote, .hljs-meta) {
    color: var(--faint);
    font-style: italic;
  }
  .message-tools {
    display: flex;
    align-items: center;
    gap: 10px;
    min-height: 32px;
    font-size: 0.82rem;
  }
  callboard-user-message .message-tools {
    gap: 0;
  }
  .message-tools .copy {
    margin-inline-start: -8px;
    opacity: 0;
    font-size: 0.8rem;
  }
  .user .message-tools .copy {
    margin-inline-start: 0;
  }
  li:is(:hover, :focus-within) .copy,
  li.model:last-child .copy {
    opacity: 1;
  }
  @media (hover: none) {
    .message-tools .copy {
      opacity: 1;
    }
  }
  .report {
    order: 1;
    color: var(--faint);
  }
`;
