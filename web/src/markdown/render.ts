/**
 * Markdown as Lit templates.
 *
 * The text is only split into tokens, which become elements and texts: no HTML is ever parsed, so there is nothing to
 * sanitise. Markup in a message is shown as it was written. While a message is streamed, Lit changes only the texts that
 * grow, so that nothing flickers and selections stay.
 */
import { html, nothing, type TemplateResult } from "lit";
import type { Token, Tokens } from "marked";
import { isLink } from "../state/shape.ts";
import { lex } from "./bounded-lexer.ts";

type Part = TemplateResult | string | typeof nothing;

/** Render a text. Parts of it that would take too long stay as they were written. */
export function renderMarkdown(text: string): Part[] {
  return lex(text).map(block);
}

function block(token: Token): Part {
  switch (token.type) {
    case "paragraph":
      return html`<p dir="auto">${inline(token)}</p>`;
    case "heading":
      return heading(token as Tokens.Heading);
    case "code":
      return html`<callboard-code .code=${(token as Tokens.Code).text} .language=${(token as Tokens.Code).lang ?? ""}></callboard-code>`;
    case "blockquote":
      return html`<blockquote>${((token as Tokens.Blockquote).tokens ?? []).map(block)}</blockquote>`;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "hr":
      return html`<hr />`;
    case "space":
    case "def":
      return nothing;
    case "text":
      return html`${inline(token)}`;
    default:
      return html`<p dir="auto">${token.raw.trimEnd()}</p>`; // HTML is shown as text
  }
}

/** Headings of a message are below those of the page. */
function heading(token: Tokens.Heading): TemplateResult {
  return html`<p class="heading" role="heading" aria-level=${Math.min(6, token.depth + 2)} data-depth=${token.depth} dir="auto">${inline(token)}</p>`;
}

function list({ ordered, start, items }: Tokens.List): TemplateResult {
  const entries = items.map(
    (item) => html`<li dir="auto">${item.task ? check(item.checked === true) : nothing}${item.tokens.map(block)}</li>`,
  );
  return ordered ? html`<ol start=${Number(start) || 1}>${entries}</ol>` : html`<ul>${entries}</ul>`;
}

const check = (isChecked: boolean) => html`<input type="checkbox" disabled .checked=${isChecked} />`;

function table({ header, rows }: Tokens.Table): TemplateResult {
  return html`<div class="scrolled" tabindex="0">
    <table>
      <thead><tr>${header.map((cell) => html`<th scope="col" dir="auto">${cell.tokens.map(span)}</th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td dir="auto">${cell.tokens.map(span)}</td>`)}</tr>`)}</tbody>
    </table>
  </div>`;
}

const inline = (token: Token): Part[] => ("tokens" in token && token.tokens ? token.tokens.map(span) : [token.raw]);

function span(token: Token): Part {
  switch (token.type) {
    case "strong":
      return html`<strong>${inline(token)}</strong>`;
    case "em":
      return html`<em>${inline(token)}</em>`;
    case "del":
      return html`<del>${inline(token)}</del>`;
    case "codespan":
      return html`<code dir="ltr">${(token as Tokens.Codespan).text}</code>`;
    case "br":
      return html`<br />`;
    case "link":
      return link(token as Tokens.Link);
    case "image":
      return image(token as Tokens.Image);
    case "escape":
      return (token as Tokens.Escape).text;
    case "text":
      return html`${inline(token)}`;
    default:
      return token.raw; // HTML is shown as text
  }
}

/** A link that may be opened. Another one is shown as it was written. */
function link(token: Tokens.Link): Part {
  if (!isLink(token.href)) return token.raw;
  return html`<a href=${token.href} target="_blank" rel="noopener noreferrer" title=${token.title ?? nothing}>${inline(token)}</a>`;
}

/** The policy of the page forbids foreign images: an image is a link to it. */
function image({ href, text, raw }: Tokens.Image): Part {
  if (!isLink(href)) return raw;
  return html`<a class="image" href=${href} target="_blank" rel="noopener noreferrer">${text || href}</a>`;
}
