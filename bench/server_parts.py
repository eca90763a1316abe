"""The parts of the server benchmark: each starts the servers that it needs, puts load on them and returns figures.

As a script, this is the worker, on another core than the servers. A server's CPU time includes all its threads. Delays
are counted from the posting of an event in the server, before its commit, until the client has read it.
"""

import asyncio
import json
import sys
import time
from functools import partial
from itertools import count
from statistics import median, quantiles
from typing import Any, NamedTuple

from bench.databases import sqlite_file
from bench.server_audience import Audience
from bench.server_driver import session_id
from bench.server_load import Poster, post
from bench.server_process import Server, floor, load, ours

Found = dict[str, list[float]]
"""Values by the names of their figures; times in seconds, memory in bytes."""

MEMORY = "memory://"
SESSIONS = 1_000
"""Sessions with one reader each."""
BURST = 10_000
"""Events per second for the CPU time, one to each session at once."""
STEADY = 1_000
"""Events per second for the delay, one after the other."""
CROWD, CROWD_RATE = 500, 20
"""Readers of one session, and events per second for each."""
POSTERS = 50


async def deliver(samples: int, seconds: float) -> Found:
    """Measure CPU time and delay per delivered event, with a thousand sessions of one reader each."""
    found: Found = {"delivered_ratio": [], "stored_ratio": []}
    found |= {"delivered": [], "delivered_sqlite": [], "delivered_floor": []}
    with floor() as bare, ours(MEMORY) as memory, sqlite_file() as url, ours(url) as sqlite:
        base, light, durable = [await Audience(each, SESSIONS).connect() for each in (bare, memory, sqlite)]
        for sample in range(-1, samples):
            before, kept, stored, after = [
                await each.watch(BURST, seconds, wave=SESSIONS) for each in (base, light, durable, base)
            ]
            if sample < 0:  # to warm up
                continue
            found["delivered"].append(kept)
            found["delivered_sqlite"].append(stored)
            found["delivered_floor"].append((before + after) / 2)
            found["delivered_ratio"].append(2 * kept / (before + after))
            found["stored_ratio"].append(2 * stored / (before + after))
        for _ in range(samples):
            for name, audience in {"steady": durable, "steady_floor": base}.items():
                audience.waits()
                await audience.watch(STEADY, seconds)
                _keep_percentiles(found, name, audience.waits())
        found["delivered_wrong"] = [float(each.tally.wrong) for each in (light, durable)]
    return found


async def crowd(samples: int, seconds: float) -> Found:
    """Measure one session with many readers."""
    with floor() as bare, sqlite_file() as url, ours(url) as server:
        base, audience = [await Audience(each, 1, CROWD).connect() for each in (bare, server)]
        found: Found = {}
        for sample in range(-1, samples):
            for name, each in {"crowd": audience, "crowd_floor": base}.items():
                rate, waits = await each.watch(CROWD_RATE, seconds), each.waits()
                if sample >= 0:  # the first is to warm up
                    found.setdefault(name, []).append(rate)
                    _keep_percentiles(found, name, waits)
        return found | {"crowd_wrong": [float(audience.tally.wrong)]}


async def accept(samples: int, seconds: float) -> Found:
    """Measure requests that post an event and get a response when it is stored."""
    found: Found = {name: [] for name in ("posts", "posts_cpu", "posts_floor", "posts_ratio")}
    with floor() as bare, sqlite_file() as url, ours(url) as server:
        await server.drive("open", sessions=POSTERS)
        answered = 0
        for sample in range(-1, samples):
            before, ran, after = [await _posting(each, seconds) for each in (bare, server, bare)]
            answered += ran.answered
            if sample >= 0:
                bare_rate = (before.per_cpu_second + after.per_cpu_second) / 2
                found["posts"].append(ran.answered / ran.seconds)
                found["posts_cpu"].append(ran.per_cpu_second)
                found["posts_floor"].append(bare_rate)
                found["posts_ratio"].append(ran.per_cpu_second / bare_rate)
        heads = (await server.drive("ask"))["heads"]
        found["posts_lost"] = [float(answered - sum(heads.values()))]
    return found


class Posted(NamedTuple):
    """Compute the figures of a period of posting."""

    answered: int
    seconds: float
    cpu: float

    @property
    def per_cpu_second(self) -> float:
        return self.answered / self.cpu


async def _posting(server: Server, seconds: float) -> Posted:
    """Run connections that each post, wait for the response, and post again."""
    answered, started, cpu = 0, time.perf_counter(), server.cpu()

    def done(now: float) -> bool:
        nonlocal answered
        answered += 1
        return now < started + seconds

    def said(index: int) -> dict[str, Any]:
        event = {"kind": "user_input", "text": "What does gas cost?"}
        return {"session_id": session_id(index), "event": event}

    path = "/api/system/event"
    posters = [Poster(path, partial(said, index), done) for index in range(POSTERS)]
    await asyncio.gather(*(post(server.port, each) for each in posters))
    return Posted(answered, time.perf_counter() - started, server.cpu() - cpu)


async def call(samples: int) -> Found:
    """Measure a call over HTTP until another connection reads its first event."""
    with sqlite_file() as url, ours(url) as server:
        audience = await Audience(server, 1).connect()
        waits: list[float] = []
        commits: list[float] = []
        asked: list[float] = []
        numbers = count()

        def arguments() -> dict[str, Any]:
            number = next(numbers)
            asked.append(time.perf_counter())
            return {"session_id": session_id(0), "tool": "add", "arguments": {"a": number, "b": 2}}

        for number in range(-20, samples):
            if number == 0:
                waits.clear()
                commits.clear()
            first = audience.tally.events + 1
            calling = asyncio.ensure_future(post(server.port, Poster("/api/executions", arguments, _once)))
            await audience.tally.have(first)
            waits.append(time.perf_counter() - asked[-1])
            await calling
            state = await server.drive("ask")
            await audience.tally.have(state["heads"][session_id(0)])
            commits += state["commits"]
        found: Found = {"commit": [median(commits)]}
        _keep_percentiles(found, "call", waits)
        return found


def _once(_now: float) -> bool:
    return False


async def wait(readers: int, seconds: float) -> Found:
    """Measure readers that receive only heartbeats."""
    with sqlite_file() as url, ours(url) as server:
        await server.drive("open", sessions=readers)
        before = server.resident()
        audience = await Audience(server, readers).connect()
        await asyncio.sleep(seconds)
        if lost := [each for each in audience.readers if each.ended.done()]:
            raise ConnectionError(f"{len(lost)} of {readers} readers were disconnected")
        after = server.resident()
        return {"idle": [after], "idle_reader": [(after - before) / readers]}


def _keep_percentiles(found: Found, name: str, waits: list[float]) -> None:
    """Add the median and the 99th percentile of one sample to the figures."""
    cut = quantiles(waits, n=100, method="inclusive")
    found.setdefault(f"{name}_p50", []).append(cut[49])
    found.setdefault(f"{name}_p99", []).append(cut[98])


PARTS = {part.__name__: part for part in (deliver, crowd, accept, call, wait)}


if __name__ == "__main__":
    load(PARTS[sys.argv[1]](*json.loads(sys.argv[2])))
