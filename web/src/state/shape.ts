/** The shape of a value, which decides how it is shown. Pure functions. */
import { type Fields, isFields } from "../api/wire.ts";

export type Shape =
  | { readonly kind: "nothing" }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "link"; readonly url: string }
  | { readonly kind: "fields"; readonly fields: Fields }
  | { readonly kind: "table"; readonly columns: readonly string[]; readonly rows: readonly Fields[] }
  | { readonly kind: "tree" };

const MAX_FIELDS = 20;
const MAX_COLUMNS = 8;

export function shapeOf(value: unknown): Shape {
  if (value === null || value === undefined) return { kind: "nothing" };
  if (typeof value === "string" && isLink(value)) return { kind: "link", url: value };
  if (typeof value !== "object") return { kind: "text", text: String(value) };
  if (Array.isArray(value)) return tableOf(value) ?? listOf(value);
  const count = Object.keys(value).length;
  if (count === 0) return { kind: "nothing" };
  return count <= MAX_FIELDS ? { kind: "fields", fields: value as Fields } : { kind: "tree" };
}

/** Whether a text is an address that may be opened: of the web, or of a mailbox. */
export function isLink(text: string): boolean {
  if (!/^(https?:\/\/|mailto:)\S+$/i.test(text)) return false;
  try {
    return ["http:", "https:", "mailto:"].includes(new URL(text).protocol);
  } catch {
    return false;
  }
}

function listOf(list: readonly unknown[]): Shape {
  const isPlain = list.length > 0 && list.every((each) => typeof each !== "object");
  return isPlain ? { kind: "text", text: list.join(", ") } : { kind: "tree" };
}

/** A list of objects with the same few fields is a table. */
function tableOf(list: readonly unknown[]): Shape | null {
  if (list.length < 2 || !list.every(isFields)) return null;
  const columns = Object.keys(list[0] ?? {});
  const isRegular = list.every(
    (row) => columns.length === Object.keys(row).length && columns.every((name) => name in row),
  );
  const isFlat = list
    .slice(0, 10)
    .every((row) => Object.values(row).every((each) => typeof each !== "object" || each === null));
  return isRegular && isFlat && columns.length > 0 && columns.length <= MAX_COLUMNS
    ? { kind: "table", columns, rows: list }
    : null;
}
