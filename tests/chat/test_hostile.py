"""Every provider accepts any conversation, and messages that were sent never change (C5, M4, M7)."""

import asyncio
import random
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from callboard import Runtime

from .hostile import DOUBLES, THINKING, Stage, World

pytestmark = pytest.mark.anyio


async def _live(worlds: list[World], store: str, chance: random.Random) -> None:
    """Run worlds concurrently on two runtimes, each with another provider."""
    stage = Stage(worlds)
    async with AsyncExitStack() as stack:
        doubles = [await stack.enter_async_context(double(stage.script(double))) for double in DOUBLES]
        lives = chance.sample(doubles, 2)
        for double in lives:
            settings: Any = THINKING.get(type(double)) if chance.random() < 0.5 else None
            async with Runtime(stage.tools(), model=double.model(), model_settings=settings, store=store) as runtime:
                await asyncio.gather(*(_act(world, runtime, double is lives[-1]) for world in worlds))
            for world in worlds:
                world.running.clear()
        assert [double.refusals for double in doubles] == [[]] * len(doubles)
        assert stage.failures == []


async def _act(world: World, runtime: Runtime, last: bool) -> None:
    session = await runtime.open(f"s{world.seed}", "u")
    try:
        for _ in range(world.chance.randrange(2, 10)):
            await world.happen(session)
        if last:
            await world.calm_down(session)
    except BaseException as error:
        error.add_note(f"seed {world.seed}")
        raise


async def test_c5_no_provider_refuses_a_hostile_history_and_sent_messages_stay(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    histories, size = (10_000, 50) if request.config.getoption("--slow") else (50, 25)
    first = random.randrange(1 << 30)
    for batch in range(first, first + histories, size):
        worlds = [World(seed) for seed in range(batch, batch + size)]
        try:
            await _live(worlds, f"sqlite:///{tmp_path}/{batch}.db", random.Random(batch))
        except BaseException as error:
            error.add_note(f"batch {batch}")
            raise
