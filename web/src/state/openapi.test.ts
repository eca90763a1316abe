import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "../api/wire.ts";
import { groupsOf, parametersSchema, resolved, searchGroups, typeName } from "./openapi.ts";
import { fieldsOf } from "./schema.ts";

const DOCUMENT = {
  paths: {
    "/api/sessions/{session_id}": {
      get: {
        operationId: "get_session",
        summary: "Get a session",
        parameters: [
          { name: "verbose", in: "query", schema: { type: "boolean" } },
          { name: "session_id", in: "path", required: true, schema: { type: "string" } },
          { name: "cookie", in: "cookie", schema: {} },
          null,
        ],
        responses: {
          200: {
            description: "Done",
            content: { "application/json": { schema: { $ref: "#/components/schemas/Info" } } },
          },
        },
      },
      post: {
        operationId: "rename",
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Rename" } } },
        },
        responses: { 200: { description: "Done", content: { "text/event-stream": { schema: { type: "string" } } } } },
      },
    },
    "/healthz": { get: { summary: "Check", responses: {} } },
    "/broken": { get: null, delete: "text" },
  },
  components: {
    schemas: {
      Info: { type: "object", properties: { at: { type: "string" } } },
      Rename: {
        type: "object",
        properties: { title: { anyOf: [{ type: "string" }, { type: "null" }], default: null } },
      },
    },
  },
};

test("operations are grouped by their paths, and those of no group come last", () => {
  const groups = groupsOf(DOCUMENT, "Server");
  assert.deepEqual(
    groups.map(({ name, operations }) => [name, ...operations.map(({ id }) => id)]),
    [
      ["Sessions", "get_session", "rename"],
      ["Server", "get /healthz"],
    ],
  );
});

test("parameters, bodies and responses have schemas that can be used alone", () => {
  const [{ operations: [get, post] = [] } = { operations: [] }] = groupsOf(DOCUMENT, "Server");
  assert.ok(get !== undefined && post !== undefined);
  assert.deepEqual(
    get.parameters.map(({ name, place, isRequired }) => [name, place, isRequired]),
    [
      ["verbose", "query", false],
      ["session_id", "path", true],
    ],
  );
  const schema = parametersSchema(get.parameters);
  assert.deepEqual(Object.keys(schema?.properties ?? {}), ["session_id", "verbose"], "required ones first");
  assert.deepEqual(
    fieldsOf(post.body as Schema)?.map(({ name, kind }) => [name, kind]),
    [["title", "text"]],
  );
  assert.ok(!("default" in (post.body?.properties?.["title"] ?? {})), "a field without a value is left out");
  assert.deepEqual(Object.keys(resolved(get.responses[0]?.schema as Schema).properties ?? {}), ["at"]);
  assert.deepEqual([get.isStream, post.isStream, post.isBodyRequired], [false, true, true]);
  assert.equal(parametersSchema([]), null);
});

test("a search finds all of its words", () => {
  const groups = groupsOf(DOCUMENT, "Server");
  const found = (search: string) =>
    searchGroups(groups, search).flatMap(({ operations }) => operations.map(({ id }) => id));
  assert.deepEqual(found("GET session"), ["get_session"]);
  assert.deepEqual(found("healthz"), ["get /healthz"]);
  assert.equal(found("").length, 3);
  assert.deepEqual(found("nothing like it"), []);
});

test("a document of another shape has no operations", () => {
  for (const document of [null, 1, "x", [], {}, { paths: [] }, { paths: { "/a": 1 } }]) {
    assert.deepEqual(groupsOf(document, "Server"), []);
  }
});

test("a type has a name, also if it refers to itself", () => {
  assert.equal(typeName({ type: "string" }), "string");
  assert.equal(typeName({ anyOf: [{ type: "integer" }, { type: "null" }] }), "integer | null");
  assert.equal(typeName({ type: "array", items: { $ref: "#/components/schemas/Event" } } as Schema), "Event[]");
  assert.equal(typeName({ enum: ["a", 1] }), '"a" | 1');
  assert.equal(typeName({}), "any");
  const endless: Schema & { items?: Schema } = { type: "array" };
  endless.items = endless;
  assert.match(typeName(endless), /…/);
  assert.equal(resolved({ $ref: "#/components/schemas/none" }).$ref, "#/components/schemas/none");
});
