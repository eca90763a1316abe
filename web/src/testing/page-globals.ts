/** Replace globals of a page for a test. Returns a function that restores them. */
export function usePageGlobals(globals: Readonly<Record<string, unknown>>): () => void {
  const before = Object.keys(globals).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  return () => {
    for (const [name, descriptor] of before) {
      if (descriptor === undefined) Reflect.deleteProperty(globalThis, name);
      else Object.defineProperty(globalThis, name, descriptor);
    }
  };
}

/** The context of an attempt. */
export const ATTEMPT = {
  executionId: "e1",
  toolCallId: "c1",
  signal: new AbortController().signal,
  attemptNumber: 1,
  maxAttempts: 3,
};
