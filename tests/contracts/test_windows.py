"""What every store promises about lists and windows: a part is read, and no more than that."""

import json
from dataclasses import replace

import pytest

from callboard.storage.port import Change, ExecutionWrite, Store

from .rows import asks, event, execution_row, finished_row, input_row, made, new, request_row, starts, turn_row

pytestmark = pytest.mark.anyio

LONG = json.dumps("x" * 5_000).encode()


async def test_h1_calls_are_listed_from_the_newest_back(store: Store) -> None:
    rows = [finished_row(f"x{n}") for n in range(5)]
    writes = [ExecutionWrite(row, row.owner, new=True) for row in rows]
    await store.commit([made(), made("other"), Change("s", executions=writes)])
    await store.commit([starts(turn_row()), Change("s", inputs=[input_row()])])

    async def listed(**wanted: object) -> list[str]:
        found = await store.brief_executions("s", **{"limit": 10, "longest": 1_000, **wanted})  # pyright: ignore
        return [each.row.id for each in found]

    assert await listed() == ["x0", "x1", "x2", "x3", "x4"], "turns and inputs are no calls"
    assert await listed(limit=2) == ["x3", "x4"]
    assert await listed(limit=2, before="x3") == ["x1", "x2"]
    assert await listed(before="x0") == []
    assert await listed(before="unknown") == []
    assert await listed(unfinished=True) == []
    assert await store.brief_executions("other", before="x3", limit=9, longest=9) == []


async def test_h1_what_is_long_in_a_call_is_left_out_of_lists(store: Store) -> None:
    short = finished_row("short", value=b'{"a": 1}')
    long = finished_row("long", value=LONG, shown=b'{"text": %b}' % LONG, document=LONG)
    await store.commit([made(), new(short), new(long)])
    whole, cut = await store.brief_executions("s", limit=10, longest=1_000)
    assert not whole.cut
    assert json.loads(whole.row.value or b"") == {"a": 1}
    assert whole.row == replace(short, document=None, value=whole.row.value, shown=whole.row.shown)
    assert (cut.row.value, cut.row.shown, cut.row.document) == (None, b"null", None)
    assert set(cut.cut) == {"value", "shown"}
    assert cut.cut["value"].length == len(LONG)
    assert cut.cut["value"].excerpt.startswith('"xxx')
    assert len(cut.cut["value"].excerpt) == 200
    stored = await store.execution("s", "long")
    assert stored is not None
    assert stored.value == LONG


async def test_h1_requests_are_listed_by_pages(store: Store) -> None:
    await store.commit([made(), made("s2"), made("theirs", user_id="bob")])
    for n in range(5):
        await store.commit([new(execution_row(f"x{n}")), asks(request_row(f"r{n}", execution_id=f"x{n}"))])
    found = await store.brief_requests(user_id="ann", status="open", limit=2, longest=1_000)
    assert [each.row.id for each in found] == ["r0", "r1"]
    found = await store.brief_requests(user_id="ann", session_id="s", after="r1", limit=2, longest=1_000)
    assert [each.row.id for each in found] == ["r2", "r3"]
    assert not await store.brief_requests(user_id="bob", limit=2, longest=1_000)
    assert not await store.brief_requests(user_id="ann", session_id="s2", limit=2, longest=1_000)
    assert not await store.brief_requests(user_id="ann", after="r4", limit=2, longest=1_000)
    assert not await store.brief_requests(user_id="ann", after="unknown", limit=2, longest=1_000)
    [cut] = await store.brief_requests(user_id="ann", limit=1, longest=1)
    assert cut.row.payload == b"null"
    assert cut.cut["payload"].length == len(request_row("r0").payload)


async def test_c5_a_transcript_is_read_from_its_end(store: Store) -> None:
    entries = [b'{"n":%d}' % n for n in range(1, 8)]
    await store.commit([made(), Change("s", transcript=entries)])
    assert await store.transcript_before("s", None, 3) == (5, entries[4:])
    assert await store.transcript_before("s", 5, 3) == (2, entries[1:4])
    assert await store.transcript_before("s", 2, 3) == (1, entries[:1])
    assert (await store.transcript_before("s", 1, 3))[1] == []
    assert await store.transcript_before("s", 99, 2) == (6, entries[5:])
    assert (await store.transcript_before("nobody", None, 3))[1] == []


async def test_b1_a_page_of_events_ends_when_it_has_bytes_enough(store: Store) -> None:
    await store.commit([made(), Change("s", events=[event(n) for n in range(40)])])
    size = len(event(10))
    page = await store.events("s", 3, 30, max_bytes=2 * size + size // 2)
    assert (page.first, len(page.lines), page.last_seq) == (4, 3, 40)
    assert len((await store.events("s", 0, 30, max_bytes=0)).lines) == 1, "there is always one"
    assert len((await store.events("s", 0, 30, max_bytes=1_000_000)).lines) == 30
    assert len((await store.events("s", 35, 30, max_bytes=1_000_000)).lines) == 5
    assert (await store.events("nobody", 0, 30, max_bytes=100)).lines == []
