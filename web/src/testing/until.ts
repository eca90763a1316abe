import assert from "node:assert/strict";

const HANGING = 60_000;

/** Wait until a condition holds, however slow the machine is. */
export async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + HANGING; !condition();) {
    assert.ok(Date.now() < end, "it never became true");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
