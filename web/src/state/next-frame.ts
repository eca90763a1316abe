/** Call a function once, before the next frame, or soon if the page draws no frames. Returns its cancellation. */
export function nextFrame(action: () => void): () => void {
  const cancel = () => {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
  };
  const run = () => {
    cancel();
    action();
  };
  const timer = setTimeout(run, 200);
  const frame = requestAnimationFrame(run);
  return cancel;
}
