import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as z from "zod";
import * as mini from "zod/mini";
import { CATEGORIES, categorizeError, ToolError } from "./errors.ts";

function named(name: string, message = ""): Error {
  return Object.assign(new Error(message), { name });
}

describe("categorizeError", () => {
  test("returns a ToolError as it is", () => {
    const error = new ToolError("no", { category: "permanent" });
    assert.equal(categorizeError(error), error);
  });

  const cases: [string, unknown, string][] = [
    ["an abort", new DOMException("stopped", "AbortError"), "cancelled"],
    ["an abort of a library", named("AbortError"), "cancelled"],
    ["a timeout of a signal", new DOMException("late", "TimeoutError"), "timeout"],
    ["a timeout of a library", named("TimeoutError"), "timeout"],
    ["a timeout of a socket", Object.assign(new Error("late"), { code: "ETIMEDOUT" }), "timeout"],
    ["a failed fetch in Chromium", new TypeError("Failed to fetch"), "transient"],
    ["a failed fetch in Firefox", new TypeError("NetworkError when attempting to fetch resource."), "transient"],
    ["a failed fetch in Safari", new TypeError("Load failed"), "transient"],
    ["a failed fetch in Node", new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } }), "transient"],
    ["a broken connection", new DOMException("gone", "NetworkError"), "transient"],
    ["a fault in code", new TypeError("x is not a function"), "execution"],
    ["an ordinary error", new Error("no"), "execution"],
    ["a text", "no", "execution"],
    ["nothing", undefined, "execution"],
    ["status 400", { status: 400 }, "permanent"],
    ["status 404 in a response", { response: { status: 404 } }, "permanent"],
    ["status 408", new Response(null, { status: 408 }), "timeout"],
    ["status 500", new Response(null, { status: 500 }), "transient"],
    ["status 501", new Response(null, { status: 501 }), "permanent"],
    ["status 504", new Response(null, { status: 504 }), "timeout"],
    ["a status that is no error", Object.assign(new Error("odd"), { status: 200 }), "execution"],
  ];
  for (const [what, error, category] of cases) {
    test(`${what}: ${category}`, () => {
      const found = categorizeError(error, "execution");
      assert.equal(found.category, category);
      assert.notEqual(found.message, "");
      assert.equal(found.cause, error);
    });
  }

  test("has `unknown` as its own default", () => {
    assert.equal(categorizeError(new Error("no")).category, "unknown");
    assert.equal(categorizeError(undefined).message, CATEGORIES.unknown.message);
  });

  test("reads Retry-After in seconds and as a date", () => {
    const limited = categorizeError(new Response(null, { status: 429, headers: { "retry-after": "7" } }));
    assert.deepEqual([limited.category, limited.retryAfter, limited.retryable], ["transient", 7_000, true]);
    const away = categorizeError(Object.assign(new Error("away"), { status: 503, headers: { "retry-after": 2 } }));
    assert.deepEqual([away.category, away.retryAfter, away.retryable], ["transient", 2_000, undefined]);
    const date = new Date(Date.now() + 60_000).toUTCString();
    const later = categorizeError({ response: { status: 503, headers: new Headers({ "retry-after": date }) } });
    assert.ok(later.retryAfter !== undefined && later.retryAfter > 55_000 && later.retryAfter <= 60_000);
    for (const value of ["soon", ""]) {
      assert.equal(categorizeError({ status: 503, headers: { "retry-after": value } }).retryAfter, undefined);
    }
    assert.equal(categorizeError({ status: 503, headers: { "retry-after": "-5" } }).retryAfter, 0);
  });

  for (const [what, schema] of [
    ["Zod", z.object({ lines: z.array(z.object({ sku: z.string() })), note: z.string() })],
    ["Zod Mini", mini.object({ lines: mini.array(mini.object({ sku: mini.string() })), note: mini.string() })],
  ] as const) {
    test(`lists what ${what} found`, () => {
      const input = { lines: [{ sku: 5 }] };
      const error = categorizeError(schema.safeParse(input, { reportInput: true }).error);
      assert.equal(error.category, "validation");
      assert.deepEqual(
        error.validationErrors.map(({ path, received }) => [path, received]),
        [
          ["lines[0].sku", 5],
          ["note", undefined],
        ],
      );
      assert.match(error.message, /lines\[0\]\.sku/);
    });
  }
});

describe("ToolError", () => {
  test("has the defaults of a failed handler", () => {
    const error = new ToolError("no");
    assert.deepEqual(
      [error.name, error.category, error.retryable, error.retryAfter, error.validationErrors, error.mayRetry],
      ["ToolError", "execution", undefined, undefined, [], false],
    );
    assert.ok(error instanceof Error);
  });

  test("says whether another attempt may help: its own word, else the category's", () => {
    assert.equal(new ToolError("", { category: "transient" }).mayRetry, true);
    assert.equal(new ToolError("", { category: "transient", retryable: false }).mayRetry, false);
    assert.equal(new ToolError("", { category: "execution", retryable: true }).mayRetry, true);
  });

  test("is shown to a model in the form of the server, and bounded", () => {
    assert.deepEqual(new ToolError("busy", { category: "transient", retryAfter: 1_500 }).toModel(), {
      category: "transient",
      message: "busy",
      retry_after: 1.5,
    });
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const validationErrors = ["x".repeat(500), circular, 5, undefined].map((received) => ({
      path: "a",
      message: "b",
      received,
    }));
    const shown = new ToolError("y".repeat(5_000), { category: "validation", validationErrors }).toModel();
    assert.ok(JSON.stringify(shown).length < 3_000);
  });
});
