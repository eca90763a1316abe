import assert from "node:assert/strict";
import { test } from "node:test";
import { SseParser } from "./sse-parser.ts";

const TEXT =
  'retry: 1000\n\n:\n\nid: 1\nevent: text\ndata: {"a":"ü"}\n\nevent: text\ndata: {}\r\n\r\nid: 2\n\nid: 3\ndata: x';

test("a stream may be split anywhere", () => {
  const whole = new SseParser().push(TEXT);
  assert.deepEqual(whole, [
    { id: "1", event: "text", data: '{"a":"ü"}' },
    { id: undefined, event: "text", data: "{}" },
    { id: "2", event: "message", data: undefined },
  ]);
  for (let size = 1; size < TEXT.length; size++) {
    const parser = new SseParser();
    const found = [];
    for (let at = 0; at < TEXT.length; at += size) found.push(...parser.push(TEXT.slice(at, at + size)));
    assert.deepEqual(found, whole, `chunks of ${size}`);
  }
});

test("data of several lines is joined", () => {
  assert.deepEqual(new SseParser().push("data: a\ndata:b\ndata\n\n"), [
    { id: undefined, event: "message", data: "a\nb\n" },
  ]);
});

test("a long line may come in many pieces", () => {
  const parser = new SseParser();
  const piece = "x".repeat(65_536);
  parser.push("data: ");
  for (let count = 0; count < 300; count++) assert.deepEqual(parser.push(piece), []);
  const [frame] = parser.push("\n\n");
  assert.equal(frame?.data?.length, 300 * piece.length);
});
