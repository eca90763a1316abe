/** Which details the reader opened or closed. The choices last as long as the tab, also over a reload. */
import { browserStorage } from "./storage.ts";

const KEY = "callboard.open";
const MAX = 500;

let choices: Map<string, boolean> | null = null;

const storage = browserStorage("sessionStorage");

export const openChoices = {
  get(id: string): boolean | undefined {
    choices ??= load();
    return choices.get(id);
  },

  set(id: string, isOpen: boolean): void {
    choices ??= load();
    choices.delete(id);
    choices.set(id, isOpen);
    storage.set(KEY, JSON.stringify([...choices].slice(-MAX)));
  },
};

function load(): Map<string, boolean> {
  try {
    return new Map(JSON.parse(storage.get(KEY) ?? "[]") as [string, boolean][]);
  } catch {
    return new Map();
  }
}
