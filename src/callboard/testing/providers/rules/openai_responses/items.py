"""Roles, content and ids of items."""

import re

from ...request import Refusal, Request
from .. import openai_refusals as refusals
from ..json_access import as_objects
from .conversation import items

ROLES = ("assistant", "system", "developer", "user")
CONTENT = {
    "assistant": ("output_text", "refusal"),
    "user": ("input_text", "input_image", "input_file", "input_audio"),
}
PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
ID = re.compile(r"[a-zA-Z0-9_-]+")
ID_LIMIT = 64


def roles_known(request: Request) -> Refusal | None:
    """Roles are known. They need not alternate, and instructions may be anywhere.

    https://platform.openai.com/docs/api-reference/responses/create
    """
    for item in items(request):
        if item.kind == "message" and item.body.get("role") not in ROLES:
            return refusals.bad_value(item.place, item.body.get("role"), ROLES)
    return None


def content_of_its_speaker(request: Request) -> Refusal | None:
    """Content of assistant messages is output, content of user messages is input.

    https://github.com/jeremychone/rust-genai/pull/119 and https://github.com/epam/ai-dial-adapter-openai/issues/511
    """
    for item in items(request):
        supported = CONTENT.get(str(item.body.get("role")), ()) if item.kind == "message" else ()
        for position, part in enumerate(as_objects(item.body.get("content"))):
            if supported and part.get("type") not in supported:
                return refusals.bad_value(f"{item.place}.content[{position}]", part.get("type"), supported)
    return None


def ids_well_formed(request: Request) -> Refusal | None:
    """The id of an item has the prefix of its kind, at most 64 characters, and only letters, digits, `_` and `-`.

    https://github.com/UKGovernmentBEIS/inspect_ai/pull/1545, https://github.com/nodetool-ai/nodetool/pull/4252,
    https://github.com/earendil-works/pi/issues/1022 and https://github.com/can1357/oh-my-pi/issues/284
    """
    for item in items(request):
        given, param = item.body.get("id"), f"{item.place}.id"
        if given is None or item.kind not in PREFIXES:
            continue
        if not ID.fullmatch(str(given)):
            wanted = "contains letters, numbers, underscores, or dashes, but this value contained additional characters"
        elif not str(given).startswith(PREFIXES[item.kind]):
            wanted = f"begins with '{PREFIXES[item.kind]}'"
        elif len(given) > ID_LIMIT:
            return refusals.too_long(param, given, ID_LIMIT)
        else:
            continue
        return Refusal(
            f"Invalid '{param}': '{given}'. Expected an ID that {wanted}.", param=param, code="invalid_value"
        )
    return None


def items_unique(request: Request) -> Refusal | None:
    """Item ids are unique.

    https://github.com/vercel/ai/issues/7883 and https://github.com/earendil-works/pi/issues/5151
    """
    seen: set[str] = set()
    for item in items(request):
        given = item.body.get("id")
        if given in seen:
            message = f"Duplicate item found with id {given}. Remove duplicate items from your input and try again."
            return Refusal(message, param="input")
        if isinstance(given, str):
            seen.add(given)
    return None
