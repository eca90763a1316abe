/**
 * Split Markdown into tokens in bounded time.
 *
 * The lexer of marked takes quadratic time for some texts, such as one with thousands of asterisks, and overflows the
 * stack for deeply nested ones. A message is stored, so that such a text would freeze the page each time it is loaded.
 * Here the parts of a text that cost too much become plain text. Ordinary messages stay far below the bounds.
 */
import { Lexer, type Token, Tokenizer, type Tokens, type TokensList } from "marked";

const MAX_LENGTH = 50_000; // characters that are split; what follows them is plain text
const MAX_DEPTH = 20; // quotes and lists within each other, or emphasis and links
const MAX_HEADING = 500; // characters of a heading that is underlined
const MAX_TASKS = 1_000; // items with a box, each of which is searched among all items
const MAX_STEPS = 4_000_000; // comparisons of characters, for all blocks in their order
const CELL_STEPS = 80; // a cell of a table, also an empty one, costs as much as so many comparisons
const MARKUP = /[!-/:-@[-`{-~]/g;
const TASK = /\[[ xX]\]/g;

/** Return the tokens of a text. */
export function lex(text: string): Token[] {
  const start = linesOf(text, MAX_LENGTH);
  const tokens = lexed(start);
  return start === text ? tokens : [...tokens, plainBlock(text.slice(start.length))];
}

function lexed(text: string): Token[] {
  if (count(text, TASK) > MAX_TASKS) return [plainBlock(text)];
  const lexer = new BoundedLexer({ gfm: true, tokenizer: new BoundedTokenizer() });
  try {
    return lexer.lex(text);
  } catch {
    return [plainBlock(text)];
  }
}

class BoundedLexer extends Lexer {
  #depth = 0;
  #left = MAX_STEPS;

  /** Take steps from those that are left. False if there are too few. */
  spend(steps: number): boolean {
    if (steps > this.#left) return false;
    this.#left -= steps;
    return true;
  }

  override blockTokens(text: string, tokens?: Token[], lastParagraphClipped?: boolean): Token[];
  override blockTokens(text: string, tokens?: TokensList, lastParagraphClipped?: boolean): TokensList;
  override blockTokens(text: string, tokens: Token[] = [], lastParagraphClipped = false): Token[] {
    if (this.#depth < MAX_DEPTH) return this.#nested(() => super.blockTokens(text, tokens, lastParagraphClipped));
    this.state.top = true; // as after any block
    tokens.push(plainBlock(text));
    return tokens;
  }

  /** The markup within a text is compared with all other markup in it, in the worst case. */
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    const steps = count(text, MARKUP) ** 2;
    if (this.#depth < MAX_DEPTH && this.spend(steps)) return this.#nested(() => super.inlineTokens(text, tokens));
    tokens.push(plainText(text));
    return tokens;
  }

  #nested(read: () => Token[]): Token[] {
    this.#depth++;
    const tokens = read();
    this.#depth--;
    return tokens;
  }
}

class BoundedTokenizer extends Tokenizer {
  /** A heading above its underline. Without a bound, each line of a long paragraph in a list is searched to its end. */
  override lheading(text: string): Tokens.Heading | undefined {
    return super.lheading(linesOf(text, MAX_HEADING));
  }

  /** A table. Short rows are filled up, so that the number of its cells grows with the square of its length. */
  override table(text: string): Tokens.Table | undefined {
    const [found] = this.rules.block.table.exec(text) ?? [];
    if (found === undefined) return undefined;
    const lines = found.trimEnd().split("\n");
    const cells = lines.length * (lines[0] ?? "").split("|").length;
    return (this.lexer as BoundedLexer).spend(cells * CELL_STEPS) ? super.table(text) : undefined;
  }
}

/** The whole lines at the start of a text, or a part of its first line. */
function linesOf(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, text.lastIndexOf("\n", most - 1) + 1 || most);
}

const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;
const plainText = (text: string): Token => ({ type: "text", raw: text, text });
const plainBlock = (text: string): Token => ({ type: "paragraph", raw: text, text, tokens: [plainText(text)] });
