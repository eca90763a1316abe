"""A damaged SQLite file is refused with a clear error, and nothing is written to it."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pytest

from callboard import Runtime, tool
from callboard.storage.errors import StoreError

pytestmark = pytest.mark.anyio


@tool
async def echo(text: Annotated[str, "Any"]) -> str:
    """Return the text."""
    return text


def scribbled(data: bytes) -> bytes:
    middle = random.Random(7).randbytes(len(data) // 2)
    return data[:4096] + middle + data[4096 + len(middle) :]


def contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "scribbled over": scribbled,
    "cut off": lambda data: data[: len(data) * 2 // 3],
    "without its beginning": lambda data: b"\0" * 100 + data[100:],
    "something else": lambda data: b"This is a letter, and no database.\n" * 1_000,
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_e5_damaged_file_is_refused_and_left_as_it_is(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "callboard.db"
    async with Runtime([echo], store=f"sqlite:///{path}") as runtime:
        session = await runtime.open("s1", "ann")
        for number in range(50):
            await session.call("echo", {"text": f"{number} " * 100})
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    before = contents(tmp_path)
    with pytest.raises(StoreError, match=f"^The SQLite file {path} "):
        async with Runtime([echo], store=f"sqlite:///{path}"):
            pass
    assert contents(tmp_path) == before
