import assert from "node:assert/strict";
import { test } from "node:test";
import { Lexer } from "marked";
import { lex } from "./bounded-lexer.ts";
import { renderMarkdown } from "./render.ts";

const LENGTH = 32_000;
const many = (text: string) => text.repeat(Math.ceil(LENGTH / text.length));

const HOSTILE: Readonly<Record<string, string>> = {
  "asterisks within a word": `a${many("**")}b`,
  "asterisks before a word": `${many("*")}a`,
  "asterisks around a word": `${many("*")}a${many("*")}`,
  underscores: `a${many("__")}b`,
  "strong that never ends": many("*a **a "),
  "emphasis of two kinds": many("**_a "),
  "emphasis that ends wrongly": many("***a** "),
  "emphasis in each paragraph": many(`${"a*".repeat(200)}\n\n`),
  tildes: many("~~a "),
  backticks: many("`` ` "),
  brackets: many("["),
  "nested brackets": many("[") + many("]"),
  images: many("!["),
  "links that never end": many("[a]("),
  "reference links": `[a]: b\n\n${many("[a] *")}`,
  "less-than signs": many("<"),
  comments: many("<!-- -"),
  "exclamation marks": many("!"),
  "an address of entities": `http://a${many("&a;")}`,
  "an address of full stops": `http://a${many("..")}`,
  mails: many("a.b@c."),
  quotes: many(">"),
  "quotes with spaces": many("> "),
  "quotes in lists": many("- > "),
  lists: many("- "),
  "numbered lists": many("1. "),
  "a list of dashes below a row": `a |\n${many("- ")}x`,
  "a long paragraph in a list": `- a\n${many("a\n")}`,
  tasks: many("- [ ] a\n"),
  "a table with short rows": `|${"a|".repeat(200)}\n|${"-|".repeat(200)}\n${many("a\n")}`,
  "tables with short rows": many(`|${"a|".repeat(200)}\n|${"-|".repeat(200)}\n${"a\n".repeat(200)}\n`),
  pipes: many("|"),
  spaces: `a${many(" ")}b`,
};

test("hostile texts take less than a second and keep their characters", () => {
  for (const [name, text] of Object.entries(HOSTILE)) {
    const before = process.cpuUsage();
    const tokens = lex(text);
    const { user } = process.cpuUsage(before); // microseconds, without those of other processes
    assert.ok(user < 1_000_000, `${name}: ${user / 1_000_000} s`);
    assert.ok(tokens.length > 0, name);
    assert.doesNotThrow(() => renderMarkdown(text), name);
  }
});

test("deeply nested quotes are quotes up to a depth, and text below", () => {
  let [token] = lex(">".repeat(2_500));
  let depth = 0;
  for (; token?.type === "blockquote"; depth++) token = token.tokens?.[0];
  assert.equal(depth, 20);
  assert.deepEqual([token?.type, token?.raw], ["paragraph", ">".repeat(2_480)]);
});

test("ordinary long messages have the tokens of marked", () => {
  const row = (place: number) => `| ${place} | \`name_of_it\` | **yes** | [link](https://example.org/a_b?c=${place}) |`;
  const section = (place: number) => `## Section ${place}

The *first* value of \`tool_name(a, b)\` is **${place}**; see [the page](https://example.org/${place}) and snake_case_names.
It is ~~wrong~~ right, and <b>this</b> is "quoted" (twice): https://example.org/x?y=1&z=2.

- one: \`code\`
  - two: **strong**
    - three, with a longer text
      that continues
      1. four
         - five
- [x] done
- [ ] open

> A quote
> > within a quote
> that continues

Underlined
----------

| a | b | c | d |
|---|:-:|--:|---|
${Array.from({ length: 20 }, (_, index) => row(index)).join("\n")}

\`\`\`c
/${"*".repeat(200)}/
${"#".repeat(80)}
\`\`\`
`;
  const text = Array.from({ length: 20 }, (_, place) => section(place)).join("\n");
  assert.ok(text.length > 40_000);
  assert.ok(JSON.stringify(lex(text)) === JSON.stringify(Lexer.lex(text, { gfm: true })));
});

test("a text that is too long is split up to the end of a line, and then plain", () => {
  const text = "**a**\n\n".repeat(10_000);
  const tokens = lex(text);
  assert.equal(tokens.map(({ raw }) => raw).join(""), text);
  const last = tokens.at(-1);
  assert.deepEqual([last?.type, last?.raw.trim().slice(0, 4)], ["paragraph", "**a*"]);
  assert.equal((lex("a".repeat(200_000))[0]?.raw ?? "").length, 50_000);
});
