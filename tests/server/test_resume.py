"""A reader that resumes after lost connections gets every event once, in order."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from callboard import Runtime
from tests.examples import examples
from tests.server.conftest import DEADLINE, TOOLS, serve

BREAKS = st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=12)
"""The number of events after which a connection is dropped, and whether the client resumes with the header."""


@examples(8, 100, suppress=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(breaks=BREAKS, bursts=st.lists(st.integers(1, 30), min_size=1, max_size=10), in_memory=st.booleans())
def test_h2_random_drops_and_cursors_leave_no_gap_and_no_repeat(
    breaks: list[tuple[int, bool]], bursts: list[int], in_memory: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("resume")
    url = "memory://" if in_memory else f"sqlite:///{folder / 'board.db'}"
    asyncio.run(_resume(url, breaks, bursts))
    for file in Path(folder).iterdir():
        file.unlink()


async def _resume(url: str, breaks: list[tuple[int, bool]], bursts: list[int]) -> None:
    async with serve(Runtime(TOOLS, store=url, idle_after=0.01)) as served:
        session = await served.runtime.open("r", "local")
        total = sum(bursts)

        async def write() -> None:
            for burst in bursts:
                await asyncio.gather(*(session.notice("x" * 100) for _ in range(burst)))

        async def read() -> list[int]:
            got: list[int] = []
            for wanted, in_header in [*breaks, (total, True)]:
                place = got[-1] if got else 0
                given = {"last_event_id": place, "after": 0} if in_header else {"after": place}
                async with served.stream("r", **given) as stream:
                    for _ in range(min(wanted, total - len(got))):
                        sent = await anext(stream)
                        assert sent.id is not None
                        got.append(sent.id)
            return got

        async with asyncio.timeout(DEADLINE):
            _, got, other = await asyncio.gather(write(), read(), read())
        assert got == other == list(range(1, total + 1))
