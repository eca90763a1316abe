import assert from "node:assert/strict";
import { test } from "node:test";
import { ExactInteger, isExact, isPlain, isRounded, keepsDigits, parseJson, readNumber } from "./exact-integer.ts";

const LARGE = "9007199254740993";

test("integers keep their digits from the text to the text", () => {
  const text = `{"id":${LARGE},"list":[-12345678901234567890,1,0.1],"text":"${LARGE}"}`;
  const value = parseJson(text) as { id: unknown; list: unknown[]; text: unknown };
  assert.ok(keepsDigits);
  assert.ok(isExact(value.id));
  assert.equal(String(value.id), LARGE);
  assert.deepEqual(value.list.slice(1), [1, 0.1]);
  assert.equal(value.text, LARGE);
  assert.equal(JSON.stringify(value), text);
});

test("numbers that are exact, and those of another form, stay numbers", () => {
  for (const text of ["9007199254740991", "1e20", "0.12345678901234567", "-5"])
    assert.equal(parseJson(text), JSON.parse(text));
  assert.deepEqual(parseJson('{"a":[1,null,"x"]}'), { a: [1, null, "x"] });
  assert.throws(() => parseJson(`[${LARGE}`), SyntaxError);
});

test("the text of an input becomes a number or an exact integer", () => {
  assert.equal(readNumber(" 12 "), 12);
  assert.equal(readNumber("1.5"), 1.5);
  assert.equal(JSON.stringify(readNumber(`00${LARGE}`)), LARGE);
  assert.equal(JSON.stringify(readNumber(`-${LARGE}`)), `-${LARGE}`);
});

test("exact integers are plain values", () => {
  assert.deepEqual([new ExactInteger(LARGE), 1, "a", [], {}, null].map(isPlain), [
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

test("a browser that rounds is known by its values", () => {
  const rounded = JSON.parse(`{"a":[{"b":${LARGE}}]}`) as unknown;
  assert.deepEqual(
    [isRounded(rounded, false), isRounded(rounded, true), isRounded({ a: [1, "b"] }, false)],
    [true, false, false],
  );
});
