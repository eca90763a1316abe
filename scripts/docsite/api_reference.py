"""The reference of the Python API: one page per group of public names, whose texts are the docstrings."""

from collections.abc import Iterator

import callboard
from callboard.tools.function import Options

from .markdown import GENERATED, attribute_docs, code, table

GROUPS = {
    "tools": (
        "Tools",
        "Define tools, and collect them.",
        ("tool", "Tool", "ToolContext", "dynamic_tool", "Registry", "Snapshot", "Toolset", "LocalToolset"),
    ),
    "runtime": (
        "Runtime and sessions",
        "Run calls and conversations for users.",
        ("Runtime", "Session", "Outcome", "Event", "OpenRequest", "RequestPurpose", "Turn", "toolset"),
    ),
    "policies": (
        "Policies and settings",
        "Retries, breakers, limits and settings.",
        ("RetryPolicy", "BackoffStrategy", "BreakerPolicy", "Limits", "TurnLimits", "Settings", "ErrorTable"),
    ),
}
"""The groups of names: file, title, sentence, names. Errors have a page of their own, and other names one more."""

OTHER_MODULES = {
    "callboard.tools.transforms": (
        "approval_required",
        "filtered",
        "allowed",
        "prefixed",
        "renamed",
        "namespaced",
        "truncated",
    ),
    "callboard.content": ("Content", "Text", "Image", "Audio", "Embedded", "Link", "TextResource", "BinaryResource"),
    "callboard.testing": ("Harness", "ManualClock"),
    "callboard.testing.providers": (
        "AnthropicDouble",
        "OpenAIChatDouble",
        "OpenAIResponsesDouble",
        "GeminiDouble",
        "Turn",
        "Call",
        "Text",
        "Thinking",
        "Failure",
    ),
    "callboard.testing.store_contract": ("StoreContract",),
    "callboard.testing.engine_contract": ("EngineContract",),
    "callboard.toolkits.ethereum": ("ethereum_toolset", "ethereum_plan_tools", "EthereumToolset", "Chain", "Solc"),
    "callboard.toolkits.gas": ("gas_worker",),
    "callboard.toolkits.mcp": ("oauth_login", "oauth_credentials"),
    "callboard.toolkits.openapi": ("openapi_toolset",),
    "callboard.toolkits.web": ("web_tools", "Brave", "Tavily", "SearXNG"),
    "callboard.toolkits.demo": ("demo_tools",),
    "callboard.server.app": ("create_app",),
    "callboard.server.launch": ("LaunchOptions", "launch"),
    "callboard.server.identity": ("IdentityConfig", "guard", "may_listen"),
    "callboard.telemetry": ("measure", "trace"),
    "callboard.telemetry.log_context": ("attach_log_context",),
    "callboard.events.posting": ("accept",),
    "callboard.events.routing": ("Side", "enters_transcript", "family", "may_post", "seen_by"),
    "callboard.runtime": ("open_store",),
    "callboard.storage.store": ("Store",),
    "callboard.storage.change": ("Change",),
    "callboard.storage.errors": ("Conflict",),
    "callboard.storage.api_keys": ("new_key",),
}
"""Names of modules that the guide uses, beside the public names of the package."""

ONLY_DOCUMENTED = {"Runtime"}
"""Classes whose attributes without a docstring are internal. Those of exceptions are left out, too."""


CODES = "Every exception is a `CallboardError` with a stable `code`: see [errors and their codes](../errors.md)."


def pages() -> Iterator[tuple[str, str]]:
    """Yield the file name and the Markdown of each page."""
    grouped = {name for _, _, names in GROUPS.values() for name in names}
    errors = [name for name in callboard.__all__ if _is_error(name) or name == "ErrorCategory"]
    more = [name for name in callboard.__all__ if name not in grouped and name not in errors]
    for file, (title, sentence, names) in GROUPS.items():
        options = tool_options() if file == "tools" else ""
        yield f"{file}.md", _page(title, sentence, names) + options
    yield "exceptions.md", _page("Exceptions", CODES, errors)
    if more:
        yield "more.md", _page("More names", "Other names of the package.", more)
    text = _page("Other modules", "Parts that you import from a module of their own.", ())
    for module, names in OTHER_MODULES.items():
        text += f"## `{module}`\n\n" + "".join(_object(f"{module}.{name}", level=3) for name in names)
    yield "modules.md", text


def tool_options() -> str:
    """Make the table of the options of `tool`, explained by the fields of a `Tool`."""
    docs = attribute_docs(callboard.Tool) | attribute_docs(Options)
    rows = [(code(name), docs[name]) for name in sorted(Options.__annotations__)]
    text = "Options of the decorator `tool`. [Writing a tool](../../tools.md#options) has their defaults.\n\n"
    return f"## Options of `tool` {{ #options }}\n\n{text}{table(('option', 'meaning'), rows)}"


def _page(title: str, sentence: str, names: "tuple[str, ...] | list[str]") -> str:
    imported = "\nImport these names from `callboard`.\n" if names else ""
    objects = "".join(
        _object(f"callboard.{name}", documented=name in ONLY_DOCUMENTED or _is_error(name)) for name in names
    )
    return f"{GENERATED}# {title}\n\n{sentence}\n{imported}\n{objects}"


def _object(path: str, *, level: int = 2, documented: bool = False) -> str:
    options = f"      heading_level: {level}\n"
    if documented:
        options += "      show_if_no_docstring: false\n"
    return f"::: {path}\n    options:\n{options}\n"


def _is_error(name: str) -> bool:
    found = getattr(callboard, name)
    return isinstance(found, type) and issubclass(found, callboard.CallboardError)
