import assert from "node:assert/strict";
import { test } from "node:test";
import { helloTool } from "./hello-tool.ts";
import { ToolExecutionManager } from "./tool-execution-manager.ts";

test("greets in a language, English by default", async () => {
  const manager = new ToolExecutionManager();
  assert.deepEqual(await manager.execute(helloTool, "c1", { name: "Ada" }), { success: true, result: "Hello, Ada!" });
  const french = await manager.execute(helloTool, "c2", { name: "Ada", language: "fr" });
  assert.deepEqual(french, { success: true, result: "Bonjour, Ada!" });
  const nobody = await manager.execute(helloTool, "c3", { name: "" });
  assert.equal(!nobody.success && nobody.error.validationErrors[0]?.path, "name");
});
