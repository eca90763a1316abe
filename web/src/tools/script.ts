/**
 * What a page gets from one script, without a bundler: the element, defined, everything of `index.ts`, and the parts of
 * Zod with which schemas are written.
 */
import {
  array,
  boolean,
  config,
  discriminatedUnion,
  enum as enum_,
  int,
  literal,
  nullable,
  number,
  object,
  optional,
  record,
  strictObject,
  string,
  tuple,
  union,
} from "zod";
import "./define.ts";

export * from "./index.ts";

// Zod's compiled validators need `eval`, which a strict Content-Security-Policy forbids and reports.
config({ jitless: true });

/** The parts of Zod for arguments that come as JSON. */
export const z = {
  array,
  boolean,
  discriminatedUnion,
  enum: enum_,
  int,
  literal,
  nullable,
  number,
  object,
  optional,
  record,
  strictObject,
  string,
  tuple,
  union,
};
