"""Contract of a store: events have consecutive numbers, are read in pages and are trimmed from the oldest."""

import json

from ...storage.change import Change, Delivery
from ...storage.event_log import PAGE_BYTES, Head, Page
from ...storage.store import Store
from ..store_rows import NOW, event, execution_row, heard, input_row, made, new, posts
from .checks import commit_one, event_at, numbered
from .contract import Contract


class EventLogContract(Contract):
    """Events have consecutive numbers, are read in pages and are trimmed from the oldest."""

    async def test_b1_numbers_begin_at_one_and_have_no_gaps(self, store: Store) -> None:
        results = await store.commit([made(), made("t"), posts(1, 2), posts(3, session_id="t"), posts(4)])
        assert results == [0, 0, 2, 1, 3]
        assert await commit_one(store, Change("s", transcript=[b"{}"])) == 3, "without events it is the newest one's"
        assert await commit_one(store, posts(5)) == 4
        page = await store.events("s", 0, 100)
        assert numbered(page) == [event_at(1, 1), event_at(2, 2), event_at(3, 4), event_at(4, 5)]
        assert page[2:] == (1, 4)
        assert await store.heads(["t", "s", "u"]) == {"s": Head(4, NOW), "t": Head(1, NOW)}
        assert await store.heads([]) == {}
        row = await store.session("s")
        assert row is not None
        assert (row.first_seq, row.last_seq) == (1, 4)

    async def test_b1_events_are_read_from_any_number(self, store: Store) -> None:
        await store.commit([made(), posts(1, 2, 3, 4)])
        assert numbered(await store.events("s", 2, 100)) == [event_at(3, 3), event_at(4, 4)]
        assert numbered(await store.events("s", 1, 2)) == [event_at(2, 2), event_at(3, 3)]
        assert await store.events("s", 4, 100) == Page(5, [], 1, 4)
        assert await store.events("s", 9, 100) == Page(10, [], 1, 4)
        assert await store.events("s", 0, 0) == Page(1, [], 1, 4)
        assert await store.events("unknown", 3, 100) == Page(4, [], 1, 0)
        assert (await store.events("s", 2**70, 100)).lines == []

    async def test_b7_a_page_of_large_events_is_bounded_by_bytes(self, store: Store) -> None:
        large = b'{"kind":"tool_result","at":"2027-01-15T08:00:00.250Z","data":{"value":"%b"}}' % (b"x" * 1_500_000)
        await store.commit([made(), posts(1), Change("s", events=[large] * 5), posts(7)])
        read: list[int] = []
        cursor = 0
        while (page := await store.events("s", cursor, 100)).lines:
            assert (page.first, page.last_seq) == (cursor + 1, 7)
            assert sum(map(len, page.lines)) < PAGE_BYTES + len(large)
            read.append(len(page.lines))
            cursor = page.first + len(page.lines) - 1
        assert cursor == 7
        assert read[0] == 4, "one small, and three with which it is full"
        assert len((await store.events("s", 1, 2)).lines) == 2

    async def test_b2_events_keep_kind_time_and_data(self, store: Store) -> None:
        body = b'{"kind":"hologram","at":"2027-01-15T08:00:00.250Z","data":{"z":[1,2.5,null],"a":{"t":"\xc3\xa4\\n"}}}'
        await store.commit([made(), Change("s", events=[body])])
        (line,) = (await store.events("s", 0, 9)).lines
        assert json.loads(line) == json.loads(body)

    async def test_b8_trim_deletes_oldest_events_by_count(self, store: Store) -> None:
        await store.commit([made(), posts(1, 2, 3, 4, 5)])
        assert await store.trim("s", keep=10, before=0.0) == 1
        assert await store.trim("s", keep=2, before=0.0) == 4
        page = await store.events("s", 0, 100)
        assert numbered(page) == [event_at(4, 4), event_at(5, 5)]
        assert page[2:] == (4, 5)
        assert numbered(await store.events("s", 0, 1)) == [event_at(4, 4)], "a limit counts what is kept"
        assert await store.trim("s", keep=4, before=0.0) == 4, "what is forgotten does not come back"
        assert await store.trim("s", keep=0, before=0.0) == 6
        assert await store.events("s", 0, 100) == Page(6, [], 6, 5)
        assert await commit_one(store, posts(6)) == 6, "numbers go on"
        assert numbered(await store.events("s", 5, 100)) == [event_at(6, 6)]
        assert await store.trim("unknown", keep=1, before=0.0) == 1

    async def test_b8_trim_deletes_oldest_events_by_age(self, store: Store) -> None:
        times = [NOW, NOW + 1, NOW + 0.5, NOW + 2]
        await store.commit([made(), Change("s", events=[event(at=time) for time in times])])
        assert await store.trim("s", keep=100, before=NOW) == 1
        assert await store.trim("s", keep=100, before=NOW + 1) == 2, (
            "one from before that stands behind a newer one stays"
        )
        assert await store.trim("s", keep=1, before=NOW + 1) == 4, "whichever forgets more"
        assert await store.trim("s", keep=100, before=NOW + 9) == 5
        row = await store.session("s")
        assert row is not None
        assert (row.first_seq, row.last_seq) == (5, 4)

    async def test_b8_trim_keeps_events_from_the_first_undelivered_input_on(self, store: Store) -> None:
        inputs = [input_row(f"i{number}") for number in range(3)]
        await store.commit([made(), posts(1), *(heard(row) for row in inputs), posts(5, 6)])
        await store.commit([new(execution_row("x")), Change("s", events=[event(kind="user_input")])])
        assert await store.trim("s", keep=0, before=NOW + 9) == 2, "what came before the first one is forgotten"
        await store.commit([Change("s", deliveries=[Delivery("i1", NOW)])])
        assert await store.trim("s", keep=1, before=0.0) == 2, "the first one still waits"
        await store.commit([Change("s", deliveries=[Delivery("i0", NOW)])])
        assert await store.trim("s", keep=1, before=0.0) == 4
        assert await store.trim("s", keep=4, before=0.0) == 4, "what is kept anyway is kept"
        await store.commit([Change("s", deliveries=[Delivery("i2", NOW)])])
        assert await store.trim("s", keep=1, before=0.0) == 7, "other work that goes on holds nothing up"

    async def test_b1_page_of_events_ends_at_its_size_limit(self, store: Store) -> None:
        await store.commit([made(), Change("s", events=[event(n) for n in range(40)])])
        size = len(event(10))
        page = await store.events("s", 3, 30, max_bytes=2 * size + size // 2)
        assert (page.first, len(page.lines), page.last_seq) == (4, 3, 40)
        assert len((await store.events("s", 0, 30, max_bytes=0)).lines) == 1, "there is always one"
        assert len((await store.events("s", 0, 30, max_bytes=1_000_000)).lines) == 30
        assert len((await store.events("s", 35, 30, max_bytes=1_000_000)).lines) == 5
        assert (await store.events("nobody", 0, 30, max_bytes=100)).lines == []
