/** The colours and patterns of the lanes, read from the theme, because a canvas knows no custom properties. */
export const COLOURS = ["ink", "faint", "line", "sheet", "paper", "good", "busy", "wait", "bad", "focus"] as const;

export type Colour = (typeof COLOURS)[number];

export interface Palette {
  readonly colours: Readonly<Record<Colour, string>>;
  readonly patterns: { readonly queue: CanvasPattern | string; readonly person: CanvasPattern | string };
  readonly font: string;
}

/** Read the palette from elements that have the colours of the theme. */
export function readPalette(context: CanvasRenderingContext2D, samples: Iterable<Element>, ratio: number): Palette {
  const read: Partial<Record<string, string>> = {};
  let font = "sans-serif";
  for (const sample of samples) {
    const style = getComputedStyle(sample);
    read[(sample as HTMLElement).dataset["colour"] ?? ""] = style.color;
    font = style.fontFamily;
  }
  const colours = Object.fromEntries(COLOURS.map((name) => [name, read[name] ?? "gray"])) as Palette["colours"];
  return {
    colours,
    patterns: { queue: dots(context, colours.faint, ratio), person: stripes(context, colours.wait, ratio) },
    font: `11px ${font}`,
  };
}

function stripes(context: CanvasRenderingContext2D, colour: string, ratio: number): CanvasPattern | string {
  return tile(context, 6, ratio, (tile) => {
    tile.fillStyle = colour;
    tile.globalAlpha = 0.25;
    tile.fillRect(0, 0, 6, 6);
    tile.globalAlpha = 1;
    tile.strokeStyle = colour;
    tile.lineWidth = 1.6;
    tile.beginPath();
    for (const shift of [-6, 0, 6]) {
      tile.moveTo(shift - 1, 7);
      tile.lineTo(shift + 7, -1);
    }
    tile.stroke();
  }) ?? colour; // prettier-ignore
}

function dots(context: CanvasRenderingContext2D, colour: string, ratio: number): CanvasPattern | string {
  return tile(context, 4, ratio, (tile) => {
    tile.fillStyle = colour;
    tile.globalAlpha = 0.14;
    tile.fillRect(0, 0, 4, 4);
    tile.globalAlpha = 0.9;
    tile.fillRect(1, 1, 1.2, 1.2);
  }) ?? colour; // prettier-ignore
}

function tile(
  context: CanvasRenderingContext2D,
  size: number,
  ratio: number,
  paint: (tile: OffscreenCanvasRenderingContext2D) => void,
): CanvasPattern | null {
  const canvas = new OffscreenCanvas(Math.round(size * ratio), Math.round(size * ratio));
  const made = canvas.getContext("2d");
  if (made === null) return null;
  made.scale(canvas.width / size, canvas.height / size);
  paint(made);
  const pattern = context.createPattern(canvas, "repeat");
  pattern?.setTransform(new DOMMatrix().scale(size / canvas.width, size / canvas.height));
  return pattern;
}
