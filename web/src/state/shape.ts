/** The shape of a value, which decides how it is shown. Pure functions, whose cost is bounded for large values. */
import { isPlain } from "../api/exact-integer.ts";
import { type Fields, hasOwn, isFields } from "../api/wire.ts";

export type Shape =
  | { readonly kind: "nothing" }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "markdown"; readonly text: string }
  | { readonly kind: "link"; readonly url: string }
  | { readonly kind: "image"; readonly url: string }
  | { readonly kind: "audio"; readonly url: string }
  | { readonly kind: "content"; readonly blocks: readonly Fields[] }
  | { readonly kind: "fields"; readonly fields: Fields }
  | { readonly kind: "table"; readonly columns: readonly string[]; readonly rows: readonly unknown[] }
  | { readonly kind: "tree" };

const MAX_FIELDS = 20;
const MAX_COLUMNS = 8;
/** Entries of a list that are looked at. */
const MAX_CHECKED = 200;
/** Characters of a text that are searched for Markdown. */
const MAX_SEARCHED = 20_000;

const IMAGE_TYPE = /^image\/(png|jpeg|gif|webp)$/;
const IMAGE_DATA = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/;
const AUDIO_DATA = /^data:audio\/(wav|mpeg|ogg|flac|aac|mp4|webm);base64,[A-Za-z0-9+/]+={0,2}$/;
const IMAGE_FILE = /\.(png|jpe?g|gif|webp)$/i;

const CONTENT_TYPES = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** `origin` is that of the page, whose policy allows its own images only. */
export function shapeOf(value: unknown, origin = ""): Shape {
  if (value === null || value === undefined) return { kind: "nothing" };
  if (typeof value === "string") return shapeOfText(value, origin);
  if (isPlain(value)) return { kind: "text", text: String(value) };
  if (Array.isArray(value)) return contentOf(value) ?? tableOf(value) ?? listOf(value);
  const image = imageOf(value as Fields);
  if (image !== null) return { kind: "image", url: image };
  const audio = audioOf(value as Fields);
  if (audio !== null) return { kind: "audio", url: audio };
  const count = Object.keys(value).length;
  if (count === 0) return { kind: "nothing" };
  return count <= MAX_FIELDS ? { kind: "fields", fields: value as Fields } : { kind: "tree" };
}

/** Whether a text is an address that may be opened: of the web, or of a mailbox. */
export function isLink(text: string): boolean {
  if (text.length > 2_000 || !/^(https?:\/\/|mailto:)\S+$/i.test(text)) return false;
  try {
    return ["http:", "https:", "mailto:"].includes(new URL(text).protocol);
  } catch {
    return false;
  }
}

/** Whether a row of a table has exactly its columns. Another row is shown as JSON. */
export function fitsTable(row: unknown, columns: readonly string[]): row is Fields {
  if (!isFields(row)) return false;
  const names = Object.keys(row);
  return names.length === columns.length && columns.every((name) => hasOwn(row, name));
}

/** Whether a text is formatted with Markdown: with headings, lists, tables, code, links or emphasis. */
export function isMarkdown(text: string): boolean {
  const start = text.slice(0, MAX_SEARCHED);
  return (
    /^(```|~~~)/m.test(start) ||
    /^\|?[ :]*-{3,}[ :]*\|[-| :]*$/m.test(start) ||
    /\[[^\]\n]+\]\((https?:|mailto:)[^)\s]+\)/.test(start) ||
    /(^|\s)\*\*[^\s*][^*\n]*\*\*/.test(start) ||
    /^#{1,6} \S.*\n(\s*\n|$)/m.test(start) ||
    /^( {0,3}([-*]|\d{1,3}[.)]) \S.*\n){2}/m.test(`${start}\n`)
  );
}

function shapeOfText(text: string, origin: string): Shape {
  if (IMAGE_DATA.test(text)) return { kind: "image", url: text };
  if (isLink(text)) return isOwnImage(text, origin) ? { kind: "image", url: text } : { kind: "link", url: text };
  return { kind: isMarkdown(text) ? "markdown" : "text", text };
}

function isOwnImage(text: string, origin: string): boolean {
  const url = new URL(text);
  return origin !== "" && url.origin === origin && IMAGE_FILE.test(url.pathname);
}

/** The address of an image in the form of MCP: its data in Base64, and its type. */
function imageOf({ type, data, mimeType, mime_type: other }: Fields): string | null {
  const kind = mimeType ?? other;
  if (type !== "image" || typeof data !== "string" || typeof kind !== "string" || !IMAGE_TYPE.test(kind)) return null;
  const url = `data:${kind};base64,${data}`;
  return IMAGE_DATA.test(url) ? url : null;
}

/** The address of a sound in the form of MCP. */
function audioOf({ type, data, mimeType }: Fields): string | null {
  if (type !== "audio" || typeof data !== "string" || typeof mimeType !== "string") return null;
  const url = `data:${mimeType};base64,${data}`;
  return AUDIO_DATA.test(url) ? url : null;
}

/** Content in the form of MCP: a list of texts, images, sounds, files and links, not all of them texts. */
function contentOf(list: readonly unknown[]): Shape | null {
  if (list.length === 0 || list.length > MAX_CHECKED) return null;
  const types = list.map((each) => (isFields(each) ? typeOf(each) : ""));
  if (!types.every((type) => CONTENT_TYPES.has(type)) || types.every((type) => type === "text")) return null;
  return { kind: "content", blocks: list as readonly Fields[] };
}

const typeOf = ({ type }: Fields) => (typeof type === "string" ? type : "");

/** What is shown of a block of content: a text, the address of a link, the content of a file or its type, or the block. */
export function blockValue(block: Fields): unknown {
  const { type, text, uri, resource } = block;
  if (type === "text") return text;
  if (type === "resource_link") return uri;
  if (type !== "resource" || !isFields(resource)) return block;
  const { blob, mimeType, text: inside } = resource;
  return imageOf({ type: "image", data: blob, mimeType }) ?? inside ?? mimeType;
}

/** The name of a block of content, if it has one. */
export function blockName({ type, title, name, resource }: Fields): string {
  const { uri } = isFields(resource) ? resource : ({} as Fields);
  const found = type === "resource_link" ? (title ?? name) : uri;
  return typeof found === "string" ? found : "";
}

function listOf(list: readonly unknown[]): Shape {
  const isText = list.length > 0 && list.length <= MAX_CHECKED && list.every(isPlain);
  return isText ? { kind: "text", text: list.join(", ") } : { kind: "tree" };
}

/** A list of objects with the same few fields is a table. Only its first rows are looked at. */
function tableOf(list: readonly unknown[]): Shape | null {
  const [first] = list;
  if (list.length < 2 || !isFields(first)) return null;
  const columns = Object.keys(first);
  if (columns.length === 0 || columns.length > MAX_COLUMNS) return null;
  const checked = list.slice(0, MAX_CHECKED);
  if (!checked.every((row) => fitsTable(row, columns))) return null;
  const isFlat = (row: unknown) => Object.values(row as Fields).every((each) => isPlain(each) || each === null);
  return checked.slice(0, 10).every(isFlat) ? { kind: "table", columns, rows: list } : null;
}
