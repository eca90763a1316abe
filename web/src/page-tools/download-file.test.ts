import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { ATTEMPT, usePageGlobals } from "../testing/page-globals.ts";
import { downloadFileTool, safeName } from "./download-file.ts";

let restore = () => {};
afterEach(() => restore());

test("a file is saved under a harmless name", async () => {
  const links: { download: string; href: string; clicks: number }[] = [];
  const createElement = () => {
    const link = { download: "", href: "", clicks: 0, click: () => void link.clicks++ };
    links.push(link);
    return link;
  };
  restore = usePageGlobals({ document: { createElement }, setTimeout: () => 0 });
  const result = await downloadFileTool.handler({ name: "prices.csv", content: "ä,1" }, ATTEMPT);
  assert.deepEqual(JSON.parse(result), { name: "prices.csv", bytes: 4 });
  const [link] = links;
  assert.ok(link && link.clicks === 1 && link.href.startsWith("blob:"));
  assert.equal(link.download, "prices.csv");
});

test("names have no folders, no hidden characters and no ending of a program", () => {
  const names: [string, string][] = [
    ["notes.txt", "notes.txt"],
    ["NOTES.MD", "NOTES.MD"],
    ["../../etc/passwd", "passwd.txt"],
    ["C:\\Windows\\run.bat", "run.bat.txt"],
    ["page.html", "page.html.txt"],
    ["report", "report.txt"],
    ["a\u202etxt.exe", "atxt.exe.txt"],
    ["a\u0000b.csv", "ab.csv"],
    [".profile", "profile.txt"],
    ["...", "file.txt"],
    ["/", "file.txt"],
    ["constructor.constructor", "constructor.constructor.txt"],
  ];
  for (const [given, safe] of names) assert.equal(safeName(given), safe);
});
