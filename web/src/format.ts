/** Values for people: names, durations, short texts. Pure functions. */
import { isExact, isPlain } from "./api/exact-integer.ts";
import { isFields } from "./api/wire.ts";
import { texts } from "./texts.ts";

const CAPITALS = new Set(["api", "html", "http", "id", "ip", "json", "sql", "uri", "url", "utc"]);

/** Characters of a value that are shown at once. */
export const LONG = 400;

/** A name in words: `utc_offset` is "UTC offset". */
export function title(name: string): string {
  const words = name
    .split(/[_ ]/)
    .map((word) => (CAPITALS.has(word) ? word.toUpperCase() : word))
    .join(" ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A duration in seconds. */
export function duration(seconds: number): string {
  if (seconds < 0.001) return "under 1 ms";
  if (seconds < 0.1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  return clock(seconds);
}

/** A finished share of work, rounded down: 100% means finished. */
export function percent(fraction: number): string {
  return `${Math.floor(fraction * 100)}%`;
}

/** A duration of minutes, hours or days that counts down. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole >= 2 * 86_400) return `${Math.floor(whole / 86_400)} days`;
  const two = (number: number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)} h` : `${minutes}:${two(whole % 60)} min`;
}

/** A value on one line, cut if it is long. */
export function short(value: unknown): string {
  const text = line(value);
  return text.length > LONG ? `${text.slice(0, LONG)}…` : text;
}

/** Whether `short` shows the whole of a value. Objects, and lists of them, are hard to read on one line. */
export function isShort(value: unknown): boolean {
  return line(value).length <= (isFields(value) || (Array.isArray(value) && !isPlainList(value)) ? LONG / 4 : LONG);
}

/** A value on one line. Of a long one, at least more characters than are shown. */
function line(value: unknown): string {
  if (value === null || value === undefined || value === "") return texts.none;
  if (Array.isArray(value) && value.length === 0) return texts.none;
  const plain = isPlainList(value) ? value.slice(0, LONG).join(", ") : value;
  return typeof plain === "string" ? plain : jsonStart(plain);
}

/** Whether a value is a list of texts, numbers and the like. Its first entries are looked at. */
const isPlainList = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && value.slice(0, LONG).every(isPlain);

/** The JSON of a value, or its first characters: about `most` of a longer one. A large value costs no more than these. */
export function jsonStart(value: unknown, most = LONG + 1): string {
  let made = "";
  const add = (each: unknown): boolean => {
    if (typeof each !== "object" || each === null || isExact(each)) {
      const isLong = typeof each === "string" && each.length > most;
      made += JSON.stringify(isLong ? each.slice(0, most) : each) ?? "null";
    } else if (Array.isArray(each)) {
      made += "[";
      for (let place = 0; place < each.length; place++) {
        if (place > 0) made += ",";
        if (!add(each[place])) return false;
      }
      made += "]";
    } else {
      made += "{";
      let separator = "";
      for (const [name, inner] of Object.entries(each)) {
        if (inner === undefined) continue;
        made += `${separator}${JSON.stringify(name)}:`;
        separator = ",";
        if (!add(inner)) return false;
      }
      made += "}";
    }
    return made.length <= most;
  };
  add(value);
  return made;
}

/** An absolute time in the reader's language. */
export const localTime = (at: string): string => new Date(at).toLocaleString();

/** The time of a day in the reader's language, with the date unless it is today. */
export function timeOf(at: string, now = new Date()): string {
  const moment = new Date(at);
  return moment.toDateString() === now.toDateString() ? moment.toLocaleTimeString() : moment.toLocaleString();
}

/** How long ago a moment was, in the reader's language. */
export function ago(at: string, now = Date.now()): string {
  const seconds = (Date.parse(at) - now) / 1000;
  const format = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
  const units: [Intl.RelativeTimeFormatUnit, number][] = [
    ["day", 86_400],
    ["hour", 3600],
    ["minute", 60],
  ];
  for (const [unit, length] of units)
    if (Math.abs(seconds) >= length) return format.format(Math.round(seconds / length), unit);
  return format.format(0, "second");
}
