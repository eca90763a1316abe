import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { ApiClient } from "./api-client.ts";
import { Problem } from "./problem.ts";
import { TokenStore } from "./token-store.ts";

const original = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = original;
});

/** Replace `fetch` with a response, and return the requests that are made. */
function serve(response: () => Response): { url: string; init: RequestInit & { headers: Record<string, string> } }[] {
  const requests: { url: string; init: RequestInit & { headers: Record<string, string> } }[] = [];
  globalThis.fetch = (async (url: string, init: RequestInit & { headers: Record<string, string> }) => {
    requests.push({ url, init });
    return response();
  }) as typeof fetch;
  return requests;
}

test("a request has the address of the server, its query and the token", async () => {
  const requests = serve(() => Response.json({ ok: true }));
  const tokens = new TokenStore();
  tokens.give("secret");
  const api = new ApiClient("http://board/", tokens);
  assert.deepEqual(await api.get("/api/tools", { session_id: "a/b", limit: 2 }), { ok: true });
  assert.equal(requests[0]?.url, "http://board/api/tools?session_id=a%2Fb&limit=2");
  assert.equal(requests[0]?.init.headers["authorization"], "Bearer secret");
});

test("integers of a response keep their digits, also when they are sent back", async () => {
  const text = '{"id":9007199254740993}';
  const requests = serve(() => new Response(text));
  const read = await new ApiClient().get("/api/requests/r1");
  assert.equal(JSON.stringify(await new ApiClient().post("/api/answer", read)), text);
  assert.equal(requests[1]?.init.body, text);
});

test("a write has its idempotency key", async () => {
  const requests = serve(() => new Response(null, { status: 204 }));
  assert.equal(await new ApiClient().post("/api/interrupt", { a: 1 }, { key: "k", timeout: 1000 }), null);
  const [request] = requests;
  assert.equal(request?.init.headers["idempotency-key"], "k");
  assert.equal(request?.init.headers["authorization"], undefined);
  assert.equal(request?.init.body, '{"a":1}');
});

test("an error response is thrown", async () => {
  serve(() => Response.json({ code: "session_not_found" }, { status: 404 }));
  await assert.rejects(
    new ApiClient().get("/api/state"),
    (error) => error instanceof Problem && error.code === "session_not_found",
  );
});

test("a response that denies access is reported to the token's store", async () => {
  serve(() => Response.json({ code: "unauthenticated" }, { status: 401 }));
  const tokens = new TokenStore();
  tokens.give("old");
  await assert.rejects(new ApiClient("", tokens).get("/api/tools"), Problem);
  assert.equal(tokens.isDenied, true);
});

test("after a refusal, one request tries the next token, and those that wait fail with it", async () => {
  let status = 401;
  const requests = serve(() => Response.json({}, { status }));
  const tokens = new TokenStore();
  const api = new ApiClient("http://board", tokens);
  const askTwice = () => Promise.allSettled([api.get("/api/tools"), api.get("/api/sessions")]);
  await assert.rejects(api.get("/api/tools"), Problem);

  tokens.set("wrong");
  const refused = await askTwice();
  assert.deepEqual(
    refused.map((each) => each.status),
    ["rejected", "rejected"],
  );
  assert.equal(requests.length, 2, "the second request with the wrong token is not sent");

  tokens.set("right");
  status = 200;
  const accepted = await askTwice();
  assert.deepEqual(
    accepted.map((each) => each.status),
    ["fulfilled", "fulfilled"],
  );
  assert.equal(requests.length, 4);
});

test("a request that fails without a response leaves the next token to the next request", async () => {
  serve(() => Response.json({}, { status: 401 }));
  const tokens = new TokenStore();
  const api = new ApiClient("http://board", tokens);
  await assert.rejects(api.get("/api/tools"), Problem);
  tokens.set("right");
  let attempts = 0;
  serve(() => {
    if (++attempts === 1) throw new TypeError("the network is down");
    return Response.json({});
  });
  const found = await Promise.allSettled([api.get("/api/tools"), api.get("/api/sessions")]);
  assert.deepEqual(
    found.map((each) => each.status),
    ["rejected", "fulfilled"],
  );
});
