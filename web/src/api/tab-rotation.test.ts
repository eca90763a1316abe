import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { until } from "../testing/until.ts";
import { TabRotation } from "./tab-rotation.ts";

const opened: TabRotation[] = [];

function setHidden(hidden: boolean): void {
  Object.defineProperty(globalThis, "document", { configurable: true, value: { hidden } });
}

function tab() {
  const counted = { rests: 0 };
  const rotation = new TabRotation(() => counted.rests++);
  opened.push(rotation);
  return { rotation, counted };
}

const delivered = () => new Promise((resolve) => setTimeout(resolve, 50));

afterEach(() => {
  for (const rotation of opened.splice(0)) rotation.close();
  Reflect.deleteProperty(globalThis, "document");
});

test("a hidden tab rests after three others were used", async () => {
  setHidden(false);
  const first = tab();
  first.rotation.use();
  const others = [tab(), tab(), tab()];
  for (const { rotation } of others.slice(0, 2)) {
    rotation.use();
    rotation.use(); // the same tab counts once
  }
  await delivered();
  setHidden(true);
  first.rotation.check();
  assert.equal(first.counted.rests, 0);
  setHidden(false);
  others[2]?.rotation.use();
  await delivered();
  assert.equal(first.counted.rests, 0, "it is visible");
  setHidden(true);
  await until(() => {
    if (first.counted.rests === 0) first.rotation.check();
    return first.counted.rests > 0;
  });
  assert.equal(first.counted.rests, 1);
});

test("a tab that is used again counts anew", async () => {
  setHidden(false);
  const first = tab();
  for (const { rotation } of [tab(), tab(), tab()]) rotation.use();
  await delivered();
  first.rotation.use();
  setHidden(true);
  first.rotation.check();
  assert.equal(first.counted.rests, 0);
});

test("without a page there is nothing to share", () => {
  const { rotation, counted } = tab();
  rotation.use();
  rotation.check();
  assert.equal(counted.rests, 0);
});
