/** A text with a class. */
export interface Piece {
  readonly text: string;
  readonly className: string;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };
const TAG = /<span class="([^"]*)">|<\/span>|[^<]+/g;

/** Read the output of highlight.js, which consists of spans with classes and of escaped texts, without parsing HTML. */
export function piecesOf(markup: string): Piece[] {
  const open: string[] = [];
  const pieces: Piece[] = [];
  for (const [part, className] of markup.matchAll(TAG)) {
    if (className !== undefined) open.push(className);
    else if (part === "</span>") open.pop();
    else pieces.push({ text: decode(part), className: open.at(-1) ?? "" });
  }
  return pieces;
}

const decode = (text: string) => text.replace(/&(amp|lt|gt|quot|#x27);/g, (_, name: string) => ENTITIES[name] ?? "");
