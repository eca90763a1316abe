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

/** Remove what this tab has stored, such as drafts, when the person signs out. */
export function forgetTab(): void {
  try {
    const { sessionStorage } = globalThis;
    const keys = Array.from({ length: sessionStorage.length }, (_, index) => sessionStorage.key(index) ?? "");
    for (const key of keys) if (key.startsWith("callboard.")) sessionStorage.removeItem(key);
  } catch {
    // the browser forbids its storage
  }
}
