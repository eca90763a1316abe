"""The navigation of the site: which page stands in which section, in which order."""

from collections.abc import Mapping
from fnmatch import fnmatch

_MORE = ["reference/api/*.md"]

NAVIGATION: list[tuple[str, list[str | tuple[str, list[str]]]]] = [
    ("Start", ["index.md", "install.md", "tutorial.md"]),
    (
        "Learn",
        [
            "concepts.md",
            "tools.md",
            "calls.md",
            "sessions.md",
            "conversation.md",
            "server.md",
            "identity.md",
            "workers.md",
            "mcp.md",
            "mcp-client.md",
            "own-agent.md",
            "ag-ui.md",
            "web.md",
            "schemas.md",
            "errors.md",
            "operations.md",
            "scaling.md",
            "providers.md",
            ("Toolkits", ["toolkits/*.md"]),
        ],
    ),
    ("Recipes", ["recipes/index.md", "recipes/*.md", ("Examples", ["examples/index.md", "examples/**.md"])]),
    ("Moving over", ["moving/index.md", "moving/*.md"]),
    (
        "Reference",
        [
            "reference/index.md",
            ("Python", [f"reference/api/{name}.md" for name in ("tools", "runtime", "policies", "exceptions")] + _MORE),
            "reference/http.md",
            "reference/commands.md",
            "reference/settings.md",
            "events.md",
            "reference/errors.md",
        ],
    ),
    (
        "Inside",
        [
            "architecture.md",
            "contributing.md",
            "security.md",
            ("Decisions", ["decisions/index.md", "decisions/*.md"]),
            ("Benchmark", ["bench/index.md", "bench/*.md"]),
            "changelog.md",
        ],
    ),
]
"""Sections with pages or patterns.

A pattern stands for the pages that no entry before it names, in the order in which the index of their folder links to
them.
"""

REST = "Learn"
"""The section that also has pages which no pattern matches."""


def navigation(pages: Mapping[str, str]) -> str:
    """Make the navigation of these pages, in TOML. Every page is in it once. Raises `ValueError` for a missing page."""
    named = {each for _, entries in NAVIGATION for entry in entries for each in _patterns(entry) if "*" not in each}
    if missing := named - set(pages):
        raise ValueError(f"The navigation has {', '.join(sorted(missing))}, which does not exist.")
    left = sorted(set(pages) - named, key=lambda page: (_position(page, pages), page))
    made: dict[str, list[str]] = {}
    for section, entries in NAVIGATION:
        made[section] = []
        for entry in entries:
            found = _expanded(entry, left)
            left = [page for page in left if page not in found]
            if isinstance(entry, str):
                made[section] += [_quoted(page) for page in found]
            elif found:
                made[section].append(f"{{ {_quoted(entry[0])} = [{', '.join(map(_quoted, found))}] }}")
    made[REST] += [_quoted(page) for page in left]
    lines = [f"  {{ {_quoted(section)} = [{', '.join(entries)}] }},\n" for section, entries in made.items()]
    return f"nav = [\n{''.join(lines)}]\n"


def _position(page: str, pages: Mapping[str, str]) -> int:
    """Return where the index of a page's folder links to it; pages that it does not link to come last."""
    folder, _, name = page.rpartition("/")
    index = pages.get(f"{folder}/index.md", "")
    found = index.find(f"]({name}")
    return len(index) if found < 0 else found


def _patterns(entry: "str | tuple[str, list[str]]") -> list[str]:
    return [entry] if isinstance(entry, str) else entry[1]


def _expanded(entry: "str | tuple[str, list[str]]", left: list[str]) -> list[str]:
    found: list[str] = []
    for pattern in _patterns(entry):
        if "*" in pattern:
            found += [page for page in left if fnmatch(page, pattern)]
        else:
            found.append(pattern)
    return found


def _quoted(text: str) -> str:
    return f'"{text}"'
