import { browserStorage } from "../../state/storage.ts";

const KEY = "callboard.theme";
const THEMES = ["", "light", "dark"] as const;

/** Light or dark. Empty for the preference of the system. */
export type Theme = (typeof THEMES)[number];

const storage = browserStorage("localStorage");

/** The theme that the person chose. */
export const chosenTheme = (): Theme => THEMES.find((each) => each === storage.get(KEY)) ?? "";

/** Choose the theme after another one, and keep the choice. */
export function chooseNext(theme: Theme): Theme {
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "";
  storage.set(KEY, next || null);
  return next;
}
