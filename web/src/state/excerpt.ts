import { isFields } from "../api/wire.ts";

/** The beginning of a value as one line of text, made without encoding all of it: values may be large. */
export function excerpt(value: unknown, limit: number): string {
  const parts: string[] = [];
  let left = limit;
  const add = (text: string) => {
    // a copy, because a part of a string would keep all of it in memory
    const part = text.length > left ? Array.from(text.slice(0, left)).join("") : text;
    parts.push(part);
    left -= part.length;
  };
  const walk = (each: unknown, depth: number) => {
    if (left <= 0) return;
    if (typeof each === "string") add(depth === 0 ? each : JSON.stringify(each.slice(0, left)));
    else if (Array.isArray(each)) list("[", each, (item) => walk(item, depth + 1), "]");
    else if (isFields(each))
      list(
        depth === 0 ? "" : "{",
        Object.entries(each),
        ([name, item]) => {
          add(`${name}: `);
          walk(item, depth + 1);
        },
        depth === 0 ? "" : "}",
      );
    else add(String(each));
  };
  const list = <T>(open: string, items: readonly T[], one: (item: T) => void, close: string) => {
    add(open);
    for (const [index, item] of items.entries()) {
      if (left <= 0) return;
      if (index > 0) add(", ");
      one(item);
    }
    if (left > 0) add(close);
  };
  walk(value, 0);
  const text = parts.join("").replace(/\s+/g, " ").trim();
  return left <= 0 ? `${text}…` : text;
}
