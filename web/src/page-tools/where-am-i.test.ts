import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { ATTEMPT, usePageGlobals } from "../testing/page-globals.ts";
import { whereAmITool } from "./where-am-i.ts";

let restore = () => {};
afterEach(() => restore());

test("the page is described without its query, which may contain credentials", async () => {
  restore = usePageGlobals({
    location: new URL("https://shop.example/lamps?token=secret#top"),
    document: { title: "Lamps" },
    navigator: { language: "fr-CH" },
    screen: { width: 1280, height: 720 },
    innerWidth: 640,
    innerHeight: 480,
  });
  const place = JSON.parse(await whereAmITool.handler({}, ATTEMPT)) as Record<string, string>;
  assert.deepEqual(place, {
    address: "https://shop.example/lamps",
    title: "Lamps",
    language: "fr-CH",
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    screen: "1280 × 720",
    window: "640 × 480",
  });
});
