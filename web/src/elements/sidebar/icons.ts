import { html, svg, type TemplateResult } from "lit";

const icon = (content: TemplateResult) =>
  html`<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">${content}</svg>`;

/** A pencil. */
export const pencil = icon(svg`<path d="m3 13 .6-2.8 7-7a1 1 0 0 1 1.4 0l.8.8a1 1 0 0 1 0 1.4l-7 7z" />`);

/** A bin. */
export const bin = icon(svg`<path d="M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5 5 13h6l.5-8.5M7 7v3.5M9 7v3.5" />`);
