import assert from "node:assert/strict";
import test from "node:test";
import { networkOf } from "./networks.ts";

test("known networks have names, others only their id", () => {
  assert.deepEqual(networkOf(11155111n), { id: 11155111n, name: "Sepolia", symbol: "ETH", isTest: true });
  assert.equal(networkOf(137n).symbol, "POL");
  assert.deepEqual(networkOf(987654321n), { id: 987654321n, name: null, symbol: null, isTest: false });
});
