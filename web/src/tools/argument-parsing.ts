/** The validation of a call's arguments with Zod. */
import { safeParseAsync, type $ZodIssue, type $ZodType } from "zod/v4/core";
import { validationError } from "./errors.ts";

/** `jitless`: Zod's compiled validators need `eval`, which a strict Content-Security-Policy forbids. */
const OPTIONS = { jitless: true, reportInput: true };

/**
 * Return the arguments as the schema makes them. Throws a `ToolError` of the category `validation`.
 *
 * The schema that the model sees has no null: it leaves a nullable property out. So a missing property is also tried
 * as null.
 */
export async function parseArguments<TArgs>(schema: $ZodType<TArgs>, args: unknown): Promise<TArgs> {
  const parsed = await safeParseAsync(schema, args, OPTIONS);
  if (parsed.success) return parsed.data;
  const missing = parsed.error.issues.filter(isMissing);
  if (missing.length > 0) {
    const repaired = await safeParseAsync(schema, withNulls(args, missing), OPTIONS);
    if (repaired.success) return repaired.data;
  }
  throw validationError(parsed.error.issues, parsed.error);
}

function isMissing(issue: $ZodIssue): boolean {
  return issue.code === "invalid_type" && issue.input === undefined && issue.path.length > 0;
}

/** Copy the arguments, with null for each missing property. */
function withNulls(args: unknown, missing: readonly $ZodIssue[]): unknown {
  const copy: unknown = structuredClone(args);
  for (const { path } of missing) {
    let parent = copy;
    for (const part of path.slice(0, -1)) parent = (parent as Record<PropertyKey, unknown>)[part];
    const name = path.at(-1);
    if (typeof parent === "object" && parent !== null && name !== undefined && !Object.hasOwn(parent, name)) {
      Object.defineProperty(parent, name, { value: null, configurable: true, enumerable: true, writable: true });
    }
  }
  return copy;
}
