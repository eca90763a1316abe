/** Call a function at intervals while the page is visible, and as soon as it is visible again. Returns the end of that. */
export function whileVisible(milliseconds: number, action: () => void): () => void {
  const { document } = globalThis;
  const timer = setInterval(() => {
    if (!document?.hidden) action();
  }, milliseconds);
  const onChange = () => {
    if (!document.hidden) action();
  };
  document?.addEventListener("visibilitychange", onChange);
  return () => {
    clearInterval(timer);
    document?.removeEventListener("visibilitychange", onChange);
  };
}
