/** Highlighting of code, loaded on demand. */
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { type Piece, piecesOf } from "./pieces.ts";

for (const [name, language] of Object.entries({ bash, css, javascript, json, python, sql, typescript, xml, yaml })) {
  hljs.registerLanguage(name, language);
}

/** Split code into pieces with their classes. Code of an unknown language is one piece. */
export function highlight(code: string, language: string): Piece[] {
  if (hljs.getLanguage(language) === undefined) return [{ text: code, className: "" }];
  return piecesOf(hljs.highlight(code, { language, ignoreIllegals: true }).value);
}
