/** A frame of a stream of server-sent events. */
export interface Frame {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string | undefined;
}

/** Splits a stream of server-sent events into frames. A chunk may end anywhere. */
export class SseParser {
  #rest = "";
  #id: string | undefined;
  #event: string | undefined;
  #data: string | undefined;

  push(text: string): Frame[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    const frames: Frame[] = [];
    for (const line of lines) {
      if (line === "") this.#end(frames);
      else this.#field(line);
    }
    return frames;
  }

  #field(line: string): void {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
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
