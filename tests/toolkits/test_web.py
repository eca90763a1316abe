"""The web toolkit, against a real server on loopback that answers as the providers do, and as hostile ones would."""

import json
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from anyio.abc import SocketStream

from callboard import Registry, Settings, ToolError
from callboard.errors import SettingsError
from callboard.toolkits.http import Guard
from callboard.toolkits.web import Brave, SearchProvider, SearXNG, Tavily, html_to_markdown, tools, web_tools
from tests.toolkits.test_http_fetch import Server, reply, server

__all__ = ["server"]
pytestmark = pytest.mark.anyio

KEY = "s3cret-key"
BRAVE = {
    "type": "search",
    "query": {"original": "callboard", "more_results_available": True},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "Call &amp; <strong>board</strong>",
                "url": "https://example.org/a",
                "description": "About the <strong>board</strong>\n of calls",
                "page_age": "2026-01-02T03:04:05",
                "age": "January 2, 2026",
            },
            {"title": "No address", "description": "x"},
            {"title": "Script", "url": "javascript:alert(1)", "description": "x"},
            {"title": "L" * 5_000, "url": "https://example.org/b", "description": "d" * 50_000},
        ],
    },
}
SEARXNG = {
    "query": "callboard",
    "number_of_results": 0,
    "results": [{"title": "A", "url": "https://example.org/a", "content": "text", "publishedDate": None}] * 3,
    "unresponsive_engines": [],
}
TAVILY = {
    "query": "callboard",
    "results": [
        {"title": f"T{n}", "url": f"https://example.org/{n}", "content": "text", "score": 0.5} for n in range(20)
    ],
    "response_time": 1.2,
}


def answer(document: object, **headers: str) -> bytes:
    return reply(json.dumps(document), content_type="application/json", **headers)


def brave(server: Server) -> Brave:
    return Brave(KEY, server.url("/search"))


async def search(provider: SearchProvider | None, **arguments: Any) -> dict[str, Any]:
    registry = Registry(web_tools(provider))
    return json.loads(await registry.call_json("web_search", json.dumps({"query": "callboard", **arguments})))


async def refusal(provider: SearchProvider | None, **arguments: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await Registry(web_tools(provider)).call("web_search", {"query": "callboard", **arguments})
    assert KEY not in f"{caught.value.to_model()} {caught.value.report}"
    return caught.value


class AnyPath(dict[str, bytes]):
    """The same answer at every path."""

    def __missing__(self, path: str) -> bytes:
        return next(iter(self.values()))


def set_answer(server: Server, made: Any) -> None:
    server.answers = AnyPath({"": made})  # pyright: ignore[reportAttributeAccessIssue]


def sent(server: Server) -> dict[str, str]:
    """The query of the newest request."""
    return {name: values[0] for name, values in parse_qs(urlsplit(server.paths[-1]).query).items()}


async def test_k1_brave_gets_the_query_and_its_hits_are_plain(server: Server) -> None:
    set_answer(server, answer(BRAVE))
    found = await search(
        brave(server), count=5, offset=2, lang="de", country="DE", safesearch="strict", freshness="week"
    )
    assert sent(server) == {
        "q": "callboard",
        "count": "5",
        "offset": "2",
        "search_lang": "de",
        "country": "DE",
        "safesearch": "strict",
        "freshness": "pw",
    }
    assert server.header("x-subscription-token") == KEY
    first, second = found["hits"]
    assert first == {
        "title": "Call & board",
        "url": "https://example.org/a",
        "snippet": "About the board of calls",
        "published": "2026-01-02T03:04:05",
    }
    assert (len(second["title"]), len(second["snippet"])) == (300, 1_000)
    assert (found["provider"], found["has_more"]) == ("brave", True)
    assert "not trusted" in found["notice"]


async def test_k1_searxng_gets_the_same_query_in_its_own_form(server: Server) -> None:
    set_answer(server, answer(SEARXNG))
    provider = SearXNG(server.url())
    found = await search(provider, count=3, lang="de", country="AT", safesearch="off", freshness="day")
    assert sent(server) == {
        "q": "callboard",
        "format": "json",
        "pageno": "1",
        "safesearch": "0",
        "language": "de-AT",
        "time_range": "day",
    }
    assert (len(found["hits"]), found["has_more"]) == (3, True)
    assert (await refusal(provider, freshness="2026-01-01to2026-02-01")).category == "validation"


@pytest.mark.parametrize(
    ("size", "count", "offset", "titles", "pages", "has_more"),
    [
        (10, 5, 0, ["0", "1", "2", "3", "4"], 1, True),
        (10, 5, 1, ["5", "6", "7", "8", "9"], 1, True),
        (7, 5, 2, ["10", "11", "12", "13", "14"], 3, True),
        (7, 5, 4, ["20", "21", "22", "23", "24"], 4, True),
        (7, 5, 5, ["25", "26", "27"], 5, False),
        (7, 5, 6, [], 5, False),
        (1, 20, 9, [], 10, False),
    ],
)
async def test_k1_pages_of_searxng_skip_no_hit(
    server: Server, size: int, count: int, offset: int, titles: list[str], pages: int, has_more: bool
) -> None:
    """The instance has four pages of a size of its own."""

    async def page(stream: SocketStream) -> None:
        first = (int(sent(server)["pageno"]) - 1) * size
        hits = [{"title": str(n), "url": f"https://example.org/{n}"} for n in range(first, first + size)]
        await stream.send(answer({"results": [hit for hit in hits if size == 1 or int(hit["title"]) < 4 * size]}))

    set_answer(server, page)
    found = await search(SearXNG(server.url()), count=count, offset=offset)
    assert ([hit["title"] for hit in found["hits"]], found["has_more"]) == (titles, has_more)
    assert len(server.requests) == pages


async def test_k1_tavily_has_pages_although_its_api_has_none(server: Server) -> None:
    set_answer(server, answer(TAVILY))
    found = await search(Tavily(KEY, server.url("/search")), count=5, offset=1, freshness="2026-01-01to2026-02-01")
    body = json.loads(server.requests[-1].partition(b"\r\n\r\n")[2])
    assert body == {
        "query": "callboard",
        "max_results": 10,
        "start_date": "2026-01-01",
        "end_date": "2026-02-01",
    }
    assert server.header("authorization") == f"Bearer {KEY}"
    assert [hit["title"] for hit in found["hits"]] == ["T5", "T6", "T7", "T8", "T9"]
    assert (await search(Tavily(KEY, server.url("/search")), count=20, offset=3))["hits"] == []


@pytest.mark.parametrize(
    ("made", "category"),
    [
        (reply("{}", "401 Unauthorized"), "configuration"),
        (reply("{}", "404 Not Found"), "configuration"),
        (reply("{}", "422 Unprocessable"), "validation"),
        (reply("{}", "503 Unavailable"), "transient"),
        (reply("<html>busy</html>"), "permanent"),
        (reply("[" * 100_000), "permanent"),
        (reply("[]"), "permanent"),
        (reply('{"web": {"results": "none"}, "query": 7}'), None),
        (reply('{"web": null}'), None),
    ],
)
async def test_k1_wrong_answers_of_a_provider_are_named(server: Server, made: bytes, category: str | None) -> None:
    set_answer(server, made)
    if category is None:
        assert (await search(brave(server)))["hits"] == []
    else:
        error = await refusal(brave(server))
        assert error.category == category
        assert error.message.startswith("The search provider brave")


async def test_k1_a_hit_that_was_cut_within_an_emoji_is_found(server: Server) -> None:
    hit = r'{"title": "cut \ud83d", "url": "https://example.org/", "description": "x", "score": NaN}'
    set_answer(server, reply(f'{{"web": {{"results": [{hit}]}}}}', content_type="application/json"))
    assert [hit["title"] for hit in (await search(brave(server)))["hits"]] == ["cut \ufffd"]


async def test_k1_a_limit_of_the_provider_says_when_to_try_again(server: Server) -> None:
    set_answer(server, reply("{}", "429 Too Many Requests", retry_after="7"))
    error = await refusal(brave(server))
    assert (error.category, error.retry_after) == ("rate_limited", 7.0)


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ""},
        {"query": "x" * 401},
        {"count": 0},
        {"count": 21},
        {"offset": 10},
        {"lang": "deutsch"},
        {"country": "de"},
        {"safesearch": "none"},
        {"freshness": "today"},
    ],
)
async def test_k1_arguments_outside_their_ranges_are_refused(server: Server, arguments: dict[str, Any]) -> None:
    assert (await refusal(brave(server), **arguments)).category == "validation"
    assert server.requests == []


async def test_k1_provider_comes_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROVIDER", "KEY", "URL"):
        monkeypatch.delenv(f"CALLBOARD_SEARCH_{name}", raising=False)
    error = await refusal(None)
    assert error.category == "configuration"
    assert "CALLBOARD_SEARCH_KEY" in error.message
    set_answer(server, answer(BRAVE))
    monkeypatch.setenv("CALLBOARD_SEARCH_KEY", KEY)
    monkeypatch.setenv("CALLBOARD_SEARCH_URL", server.url("/own"))
    assert (await search(None))["provider"] == "brave"
    monkeypatch.setenv("CALLBOARD_SEARCH_PROVIDER", "searxng")
    assert (await search(None))["provider"] == "searxng"
    assert server.paths[-1].startswith("/own/search?")
    monkeypatch.setenv("CALLBOARD_SEARCH_PROVIDER", "altavista")
    with pytest.raises(SettingsError, match="one of brave, tavily, searxng"):
        Settings.from_environment()
    with pytest.raises(SettingsError, match="search_url"):
        Settings(search_url="ftp://x")
    assert KEY not in repr(Settings(search_key=KEY))


PAGE = """<!doctype html><html><head><title>The  page</title><style>p { color: red }</style></head><body>
<nav><a href="/menu">Menu</a></nav><main><h1>Bread &amp; salt</h1><p>Some <b>bold</b> words,
and a <a href="/more?a=1&amp;b=2">link</a>.</p><ul><li>one</li><li>two<ol><li>first<li>second</ol></li></ul>
<pre>  x = 1\n    y</pre><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>
<script>document.write("<p>no</p>")</script><p><a href="javascript:alert(1)">Click</a>
<img src="x.png" alt="A cat"> %s</p></main><form>Name <input></form><footer>Imprint</footer></body></html>""" % (
    "word " * 60
)


async def fetched(server: Server, **arguments: Any) -> dict[str, Any]:
    registry = Registry(web_tools(guard=Guard(allow=["127.0.0.0/8"])))
    return json.loads(await registry.call_json("web_fetch", json.dumps({"url": server.url("/page"), **arguments})))


async def test_k1_a_page_is_read_as_markdown(server: Server) -> None:
    server.answers["/page"] = reply(PAGE, content_type="text/html; charset=utf-8")
    page = await fetched(server)
    assert page["title"] == "The page"
    assert page["text"].startswith(
        "# Bread & salt\n\nSome **bold** words, and a "
        f"[link]({server.url('/more?a=1&b=2')}).\n\n- one\n- two\n\n  1. first\n  2. second"
    )
    for expected in ("```\n  x = 1\n    y\n```", "| A | B |\n| 1 | 2 |", "Click", "[image: A cat]"):
        assert expected in page["text"]
    for absent in ("Menu", "Imprint", "Name", "color", "no</p>", "javascript"):
        assert absent not in page["text"]
    assert page["links"] == [{"text": "link", "url": server.url("/more?a=1&b=2")}]
    assert "not trusted" in page["notice"]


async def test_k1_a_long_page_is_read_in_parts(server: Server) -> None:
    server.answers["/page"] = reply(PAGE, content_type="text/html")
    whole = (await fetched(server))["text"]
    first = await fetched(server, max_characters=100)
    assert (len(first["text"]), first["next_start"], first["total_characters"]) == (100, 100, len(whole))
    rest = await fetched(server, start=100, max_links=0)
    assert (first["text"] + rest["text"], rest["next_start"], rest["links"]) == (whole, None, [])


async def test_k1_texts_other_than_pages_are_returned_as_they_are(server: Server) -> None:
    server.answers["/page"] = reply('{"a": "<p>"}', content_type="application/json")
    assert (await fetched(server))["text"] == '{"a": "<p>"}'


@pytest.mark.parametrize(
    ("status", "category"), [("404 No", "not_found"), ("403 No", "permanent"), ("500 No", "transient")]
)
async def test_k1_an_error_page_is_an_error(server: Server, status: str, category: str) -> None:
    server.answers["/page"] = reply("<p>x", status)
    with pytest.raises(ToolError) as caught:
        await fetched(server)
    assert caught.value.category == category


async def test_k1_pages_of_private_networks_are_refused(server: Server) -> None:
    with pytest.raises(ToolError) as caught:
        await Registry(tools).call("web_fetch", {"url": server.url("/page")})
    assert caught.value.category == "permission"
    assert server.requests == []


HOSTILE = ["<div>", "<a>", "<!", "<!--", "<a href=", "</form>", "<form>", "<script>", "<pre> ", "<", "&", "<ul><li>",
           "<main>", "</main>", '<a x="', "<title>", "<a href=//x>y</a>", "<svg></p>", "<b><i>", '<a x=">',
           """<a x="'>""", '<b "=">', "<b '='>", '<a x="><b x=\'>']  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_k1_a_hostile_page_costs_no_more_than_its_size(piece: str) -> None:
    def cost(size: int) -> float:
        page = piece * (size // len(piece)) + '"'  # a last quote, so that all others may be pairs
        started = time.process_time()
        html_to_markdown(page, "https://example.org/")
        return time.process_time() - started

    small = min(cost(50_000) for _ in range(3))
    assert any(cost(400_000) < 8 * 4 * small + 0.1 for _ in range(3))  # a collection may fall into one of them


def test_k1_a_hostile_tag_costs_no_more_than_its_size() -> None:
    """A name without a value, or blanks, up to the end of a long tag."""

    def cost(tag: str) -> float:
        page = f"<img {tag * (9_000 // len(tag))}>" * 20
        started = time.process_time()
        html_to_markdown(page, "https://example.org/")
        return time.process_time() - started

    plain = min(cost('a="b" ') for _ in range(3))
    for tag in ("x", "x ", "x  = ", " ", "x=", '="', "x='\" ", "/"):
        assert any(cost(tag) < 10 * plain + 0.1 for _ in range(3)), tag


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ('<p title="a > b" data-x=\'{"y": ">"}\'>text', "text"),
        ('<img src=x alt="1 > 0"> text', "[image: 1 > 0] text"),
        ('<a title = "x>y" href="/z">text</a>', "[text](https://example.org/z)"),
        ("<p class=it's>one</p><p>it's", "one\n\nit's"),
        ('<p title="open>one</p>two', "one\n\ntwo"),
        ("</p title='>'>text", "text"),
    ],
)
def test_k1_a_value_in_quotes_does_not_end_its_tag(page: str, text: str) -> None:
    assert html_to_markdown(page, "https://example.org/") == text


@pytest.mark.parametrize(
    ("base", "link"),
    [
        ('<base href="/docs/">', "https://example.org/docs/more"),
        ('<base target=x><base href="https://other.example/a/b"><base href="/c/">', "https://other.example/a/more"),
        ('<base href="javascript:alert(1)">', "https://example.org/dir/more"),
        ('<base href="http://[half/">', "https://example.org/dir/more"),
    ],
)
def test_k1_links_are_resolved_against_the_base_of_the_page(base: str, link: str) -> None:
    page = f"<head>{base}</head><a href=more>text</a>"
    assert html_to_markdown(page, "https://example.org/dir/page") == f"[text]({link})"


async def test_k1_a_page_within_a_form_is_read(server: Server) -> None:
    body = "<h1>News</h1><p>" + "word " * 60 + "</p><select><option>Choice</select><button>Go</button>"
    server.answers["/page"] = reply(f"<html><body><form action=/>{body}</form></body></html>", content_type="text/html")
    text = (await fetched(server))["text"]
    assert text.startswith("# News\n\nword word")
    assert "Choice" not in text
    assert "Go" not in text


def test_k1_a_character_reference_without_end_is_text() -> None:
    endless = f"&#{'9' * 5_000};"
    page = f'<title>{endless}</title><p>one {endless} two</p><img alt="{endless}">'
    assert html_to_markdown(page).startswith(f"one {endless} two\n\n[image: &#999")
