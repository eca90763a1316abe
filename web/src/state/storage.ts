/** Texts that outlive the page. */
export interface TextStorage {
  get(key: string): string | null;
  /** Store a text, or remove it (null). */
  set(key: string, text: string | null): void;
}

/** The browser's storage, which a browser may forbid or limit. Then texts are not stored. */
export function browserStorage(name: "localStorage" | "sessionStorage"): TextStorage {
  return {
    get(key) {
      try {
        return globalThis[name].getItem(key);
      } catch {
        return null;
      }
    },
    set(key, text) {
      try {
        if (text === null) globalThis[name].removeItem(key);
        else globalThis[name].setItem(key, text);
      } catch {
        // the text lasts as long as the page
      }
    },
  };
}

/** Remove the stored texts whose keys begin with one of the prefixes. */
export function removeStored(name: "localStorage" | "sessionStorage", ...prefixes: readonly string[]): void {
  try {
    const storage = globalThis[name];
    const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
    for (const key of keys) if (prefixes.some((prefix) => key.startsWith(prefix))) storage.removeItem(key);
  } catch {
    // the browser forbids its storage
  }
}
