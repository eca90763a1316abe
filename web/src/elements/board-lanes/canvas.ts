/** The context of a canvas, whose pixels fit the screen. Coordinates are CSS pixels. */
export function fittedContext(canvas: HTMLCanvasElement, height: number): CanvasRenderingContext2D | null {
  const ratio = devicePixelRatio;
  const [wide, tall] = [Math.round(canvas.clientWidth * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== tall) {
    [canvas.width, canvas.height] = [wide, tall];
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
