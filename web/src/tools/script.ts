/**
 * What a page gets from one script, without a bundler: the element, defined, everything of `index.ts`, and the parts of
 * Zod with which schemas are written.
 */
import "./zod-without-eval.ts"; // first, because other modules make schemas when they are loaded
import {
  array,
  boolean,
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
