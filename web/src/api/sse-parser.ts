/** A frame of a stream of server-sent events. */
export interface Frame {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string | undefined;
}

/** Splits a stream of server-sent events into frames. A chunk may end anywhere. */
export class SseParser {
  #rest: string[] = []; // the pieces of a line that has not ended, joined once, because it may be long
  #id: string | undefined;
  #event: string | undefined;
  #data: string | undefined;

  push(text: string): Frame[] {
    // a return at the end of the last piece may be followed by its line feed now
    const last = this.#rest.at(-1)?.endsWith("\r") ? (this.#rest.pop() ?? "") : "";
    const lines = (last + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest.push(lines[0] ?? "");
    if (lines.length === 1) return [];
    lines[0] = this.#rest.join("");
    this.#rest = [lines.pop() ?? ""];
    const frames: Frame[] = [];
    for (const line of lines) {
      if (line === "") this.#end(frames);
      else this.#field(line);
    }
    return frames;
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "data") this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    else if (name === "id") this.#id = value;
    else if (name === "event") this.#event = value;
  }

  #end(frames: Frame[]): void {
    if (this.#id !== undefined || this.#data !== undefined) {
      frames.push({ id: this.#id, event: this.#event ?? "message", data: this.#data });
    }
    this.#id = this.#event = this.#data = undefined;
  }
}
