"""Messages of the model as Markdown, and texts that try to become markup."""

import json

from callboard.testing.providers import Call, Gate, Text, Turn
from tests.server.browser.conftest import ScriptedServer
from tests.server.browser.tab import Tab

MESSAGE = """# A plan

Some **bold**, *slanted* and `code`, with a [link](https://example.org/a?b=c) and https://example.com.

1. one
2. two
   - nested

| name | pieces |
| --- | --- |
| lamp | 35 |

```python
def add(a, b):
    return a + b  # <b>not markup</b>
```

> quoted
"""
CORPUS = (
    "<script>document.title='lost'</script>",
    "<img src=x onerror=\"document.title='lost'\">",
    "<svg onload=\"document.title='lost'\"><a xlink:href=\"javascript:document.title='lost'\">x</a></svg>",
    "<iframe srcdoc=\"<script>parent.document.title='lost'</script>\"></iframe>",
    "[a](javascript:document.title='lost')",
    "[b](JaVaScRiPt:document.title='lost')",
    "[c](data:text/html,<script>document.title='lost'</script>)",
    "[d](vbscript:x) [e](file:///etc/passwd) [f](//evil.example/x)",
    "![g](javascript:document.title='lost') ![h](https://evil.example/x.png)",
    "<a href=\"javascript:document.title='lost'\">i</a> <javascript:document.title='lost'>",
    "```\"onload=x\n</code></pre><script>document.title='lost'</script>\n```",
    "`</code><script>document.title='lost'</script>`",
    "| <b>j</b> | <img src=x onerror=\"document.title='lost'\"> |\n| --- | --- |\n| ${document.title='lost'} | {{x}} |",
    "<style>*{display:none}</style><base href=//evil.example><meta http-equiv=refresh content=0;url=//evil.example>",
    "<callboard-chat server=//evil.example></callboard-chat><form action=//evil.example><input name=x>",
    "\u202e\u0000&#x3C;script&#x3E;document.title='lost'&#x3C;/script&#x3E;&lt;b&gt;",
)
ELEMENTS = "script, img, svg, iframe, style, base, meta, object, embed, callboard-chat, form, b"
MARKUP = f"$$('#timeline :is({ELEMENTS})').length"
LINKS = "$$('#timeline a[href]:not([href=\"#\"], .copy-link)').map((each) => [each.protocol, each.rel, each.target])"


def test_w1_markdown_is_formatted_and_code_is_highlighted(scripted: ScriptedServer, tab: Tab) -> None:
    scripted.model.add(MESSAGE)
    tab.open(scripted.url)
    tab.say("Plan!")
    tab.until_model_said("A plan", "quoted")
    for selector in ("[role=heading]", "strong", "em", "code", "ol > li ul > li", "table td", "blockquote"):
        assert tab.see(f"seen($({json.dumps('.markdown ' + selector)}))"), selector
    assert tab.see("$$('.markdown td').map((each) => each.textContent)") == ["lamp", "35"]
    tab.until("$('.code-block .hljs-keyword')?.textContent === 'def'")
    assert "return a + b  # <b>not markup</b>" in tab.see("$('.code-block code').textContent")
    assert tab.see(LINKS) == [["https:", "noopener noreferrer", "_blank"]] * 2
    assert tab.see("$$('.code-block button').length") == 1


def test_w1_streamed_markdown_changes_only_what_grows(scripted: ScriptedServer, tab: Tab) -> None:
    gate, end = Gate(), Gate()
    scripted.model.add(Turn(Text("First **one**.\n\n", "- two\n", gate, "- three\n\n```js\nlet", end, " x = 1;\n```")))
    tab.open(scripted.url)
    tab.say("Stream!")
    tab.until("$$('.markdown li').length === 1")
    tab.see("void (window.kept = [$('.markdown strong'), $('.markdown li')])")
    gate.open()
    tab.until("$('.markdown .code-block')?.textContent.includes('let')")
    assert tab.see("kept[0] === $('.markdown strong') && kept[1] === $('.markdown li')"), "no element was made anew"
    end.open()
    tab.until_model_said("let x = 1;")
    assert tab.see("kept[0] === $('.markdown strong') && kept[1] === $('.markdown li')")


def test_w1_no_text_becomes_markup_or_an_unsafe_link(scripted: ScriptedServer, tab: Tab) -> None:
    everything = "\n\n".join(CORPUS)
    arguments = {"to": CORPUS[0], "amount": "1", "purpose": everything[:400], CORPUS[1]: CORPUS[2]}
    scripted.model.add(
        everything,
        Turn(
            Call(CORPUS[0], {"a": CORPUS[1]}),
            Call("send_payment", arguments),
            Call("calculate", {"expression": CORPUS[1]}),
        ),
        "Done.",
    )
    tab.open(scripted.url)
    tab.say(everything)
    tab.until_model_said("[a](javascript:")
    tab.say("And call!")
    tab.until_model_said("Done.")
    for _ in range(2):
        assert tab.see(MARKUP) == 0
        assert {protocol for protocol, *_ in tab.see(LINKS)} <= {"https:", "http:", "mailto:"}
        assert all(rest == ["noopener noreferrer", "_blank"] for _, *rest in tab.see(LINKS))
        assert tab.see("document.title") == "Callboard"
        assert tab.see("seen($('#composer'))")
        tab.reload()
        tab.connected()
    assert tab.timeline()[0] == ["user", everything]
