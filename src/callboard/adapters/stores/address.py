"""What the address of a store says about it, without loading or opening the store."""

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

FILE_PREFIX = "sqlite:///"
"""The beginning of the address of a SQLite file. The name of the file follows."""


class Reach(StrEnum):
    """The processes that can use the same store."""

    PROCESS = "in this process"
    MACHINE = "on this machine"
    NETWORK = "on all machines"


class StoreAddress(NamedTuple):
    """The properties of the store at an address."""

    kind: str
    """`memory`, `sqlite` or `postgresql`; the scheme for an address of no built-in store."""
    reach: Reach
    extras: tuple[str, ...] = ()
    """The optional parts of Callboard that the store needs."""
    file: Path | None = None
    """The file that has the data, as the address names it."""
    migrates_itself: bool = False
    """Whether its tables are migrated when it is opened."""


def store_address(url: str) -> StoreAddress:
    """Return what an address says. It raises nothing: opening the store says what is wrong with its address."""
    scheme = url.partition(":")[0]
    if url == "memory://":
        return StoreAddress(scheme, Reach.PROCESS)
    if scheme == "sqlite":
        file = Path(url.removeprefix(FILE_PREFIX)) if url.startswith(FILE_PREFIX) else None
        return StoreAddress(scheme, Reach.MACHINE, ("sql",), file, migrates_itself=True)
    if scheme.startswith("postgres"):
        return StoreAddress("postgresql", Reach.NETWORK, ("sql", "postgres"))
    return StoreAddress(scheme, Reach.NETWORK)


def file_address(file: Path) -> str:
    """Return the address of the store in a SQLite file."""
    return f"{FILE_PREFIX}{file}"
