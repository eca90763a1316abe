import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { settle } from "../testing/manual-clock.ts";
import { ATTEMPT, usePageGlobals } from "../testing/page-globals.ts";
import { copyToClipboardTool } from "./copy-to-clipboard.ts";
import { gestures } from "./gestures.ts";

let restore = () => {};
afterEach(() => restore());

/** A clipboard that refuses so many times. */
function useClipboard(refusals: number): string[] {
  const copied: string[] = [];
  const writeText = async (text: string) => {
    if (refusals-- > 0) throw new DOMException("not now", "NotAllowedError");
    copied.push(text);
  };
  restore = usePageGlobals({ navigator: { clipboard: { writeText } } });
  return copied;
}

test("a text is copied", async () => {
  const copied = useClipboard(0);
  assert.equal(await copyToClipboardTool.handler({ text: "hello" }, ATTEMPT), "Copied 5 characters.");
  assert.deepEqual(copied, ["hello"]);
});

test("a browser that wants a click gets it", async () => {
  const copied = useClipboard(1);
  const running = copyToClipboardTool.handler({ text: "hello" }, ATTEMPT);
  await settle();
  assert.equal(gestures.waitingFor("c1"), "copy");
  gestures.decide("c1", true);
  await running;
  assert.deepEqual(copied, ["hello"]);
});

test("a refusal after the click is final", async () => {
  useClipboard(2);
  const running = copyToClipboardTool.handler({ text: "hello" }, ATTEMPT);
  await settle();
  gestures.decide("c1", true);
  await assert.rejects(async () => running, { category: "permanent", message: /Nothing was copied/ });
});

test("a page without HTTPS says so", async () => {
  restore = usePageGlobals({ navigator: {} });
  await assert.rejects(async () => copyToClipboardTool.handler({ text: "x" }, ATTEMPT), { message: /HTTPS/ });
});
