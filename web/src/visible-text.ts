/** Texts of strangers, in which every character can be seen. Pure functions. */

/** Characters that are invisible or change the order of others: controls, formats (also bidirectional), separators. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\u115F\u1160\u2800\u3164\uFFA0]/gu;
const LINE_END = /\r\n?|\n/g;

/** A text on one line. Hidden characters are named by their code points, and a long text is cut. */
export function visibleText(given: unknown, limit = 500): string {
  const text = (typeof given === "string" ? given : String(given ?? "")).replace(LINE_END, " ");
  const characters = [...text.slice(0, limit * 2)];
  const shown = characters.slice(0, limit).join("").replace(HIDDEN, codePoint);
  return characters.length > limit || text.length > limit * 2 ? `${shown}…` : shown;
}

/** A text in which hidden characters are named, except line breaks and tabs. */
export function visibleLines(text: string): string {
  return text.replace(HIDDEN, (character, place: number) => {
    const isLineEnd = character === "\n" || (character === "\r" && text[place + 1] === "\n");
    return isLineEnd || character === "\t" ? character : codePoint(character);
  });
}

function codePoint(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
