"""The development chain of the toolkits' tests, started for the first test that uses it."""

from collections.abc import Generator, Mapping
from contextlib import ExitStack

import pytest

from callboard.toolkits.ethereum import Solc
from tests.conftest import without
from tests.servers import Unavailable
from tests.toolkits import development_chain
from tests.toolkits.development_chain import Compiled, DevelopmentChain


@pytest.fixture(scope="session")
def chain() -> Generator[DevelopmentChain]:
    """A real development chain, which all tests of the session share."""
    with ExitStack() as stack:
        try:
            made = stack.enter_context(development_chain.development_chain())
        except Unavailable as why:
            without("A development chain", why)
        yield made


@pytest.fixture(scope="session")
def contracts() -> Mapping[str, Compiled]:
    """The contracts of the tests, compiled."""
    try:
        return development_chain.compiled()
    except Unavailable as why:
        without("The Solidity compiler", why)


@pytest.fixture(scope="session")
def compiler() -> Solc:
    """The Solidity compiler."""
    try:
        return Solc(development_chain.compiler_command())
    except Unavailable as why:
        without("The Solidity compiler", why)
