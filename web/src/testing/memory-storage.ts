/** Replace the browser's storage for a test. Returns what is stored. */
export function useMemoryStorage({ isForbidden = false } = {}): {
  local: Map<string, string>;
  session: Map<string, string>;
} {
  const local = new Map<string, string>();
  const session = new Map<string, string>();
  replace("localStorage", local, isForbidden);
  replace("sessionStorage", session, isForbidden);
  return { local, session };
}

function replace(name: "localStorage" | "sessionStorage", stored: Map<string, string>, isForbidden: boolean): void {
  Object.defineProperty(globalThis, name, {
    configurable: true,
    get() {
      if (isForbidden) throw new Error("The storage is forbidden.");
      return {
        length: stored.size,
        key: (index: number) => [...stored.keys()][index] ?? null,
        getItem: (key: string) => stored.get(key) ?? null,
        setItem: (key: string, text: string) => stored.set(key, text),
        removeItem: (key: string) => stored.delete(key),
      };
    },
  });
}
