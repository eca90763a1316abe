"""Contract of a store: events have consecutive numbers, are read in pages and are trimmed from the oldest."""

import json
from collections.abc import Sequence

from ...storage.change import Change, Delivery
from ...storage.event_log import PAGE_BYTES, Head, Page
from ...storage.store import NO_LIMIT, Store
from ..store_rows import NOW, add, create, event, execution_row, input_row, post
from .contract import Contract, commit_one, event_at, numbered, stored_session


class EventLogContract(Contract):
    async def test_b1_numbers_begin_at_one_and_have_no_gaps(self, store: Store) -> None:
        results = await store.commit([create(), create("t"), post(1, 2), post(3, session_id="t"), post(4)])
        assert results == [0, 0, 2, 1, 3]
        assert await commit_one(store, Change("s", transcript=[b"{}"])) == 3, "the number of the newest event"
        assert await commit_one(store, post(5)) == 4
        page = await store.events("s", 0, 100)
        assert numbered(page) == [event_at(1, 1), event_at(2, 2), event_at(3, 4), event_at(4, 5)]
        assert page[2:] == (1, 4, NOW)
        assert await store.heads(["t", "s", "u"]) == {"s": Head(4, NOW), "t": Head(1, NOW)}
        assert await store.heads([]) == {}
        row = await stored_session(store)
        assert (row.first_seq, row.last_seq) == (1, 4)

    async def test_b1_events_are_read_from_any_number(self, store: Store) -> None:
        await store.commit([create(), post(1, 2, 3, 4)])
        assert numbered(await store.events("s", 2, 100)) == [event_at(3, 3), event_at(4, 4)]
        assert numbered(await store.events("s", 1, 2)) == [event_at(2, 2), event_at(3, 3)]
        assert await store.events("s", 4, 100) == Page(5, [], 1, 4, NOW)
        assert await store.events("s", 9, 100) == Page(10, [], 1, 4, NOW)
        assert await store.events("s", 0, 0) == Page(1, [], 1, 4, NOW)
        assert await store.events("unknown", 3, 100) == Page(4, [], 1, 0)
        assert (await store.events("s", 2**70, 100)).lines == []

    async def test_b7_a_page_of_large_events_is_bounded_by_bytes(self, store: Store) -> None:
        large = b'{"kind":"tool_result","at":"2027-01-15T08:00:00.250Z","data":{"value":"%b"}}' % (b"x" * 1_500_000)
        await store.commit([create(), post(1), Change("s", events=[large] * 5), post(7)])
        read: list[int] = []
        cursor = 0
        while (page := await store.events("s", cursor, 100)).lines:
            assert (page.first, page.last_seq) == (cursor + 1, 7)
            assert sum(map(len, page.lines)) < PAGE_BYTES + len(large)
            read.append(len(page.lines))
            cursor = page.first + len(page.lines) - 1
        assert cursor == 7
        assert read[0] == 4, "a small event, and three that fill the page"
        assert len((await store.events("s", 1, 2)).lines) == 2

    async def test_b2_events_keep_kind_time_and_data(self, store: Store) -> None:
        body = b'{"kind":"hologram","at":"2027-01-15T08:00:00.250Z","data":{"z":[1,2.5,null],"a":{"t":"\xc3\xa4\\n"}}}'
        await store.commit([create(), Change("s", events=[body])])
        (line,) = (await store.events("s", 0, 9)).lines
        assert json.loads(line) == json.loads(body)

    async def test_b8_trim_deletes_oldest_events_by_count(self, store: Store) -> None:
        await store.commit([create(), post(1, 2, 3, 4, 5)])
        assert await store.trim("s", keep=10, before=0.0) == 1
        assert await store.trim("s", keep=2, before=0.0) == 4
        page = await store.events("s", 0, 100)
        assert numbered(page) == [event_at(4, 4), event_at(5, 5)]
        assert page[2:] == (4, 5, NOW)
        assert numbered(await store.events("s", 0, 1)) == [event_at(4, 4)], "a limit counts kept events"
        assert await store.trim("s", keep=4, before=0.0) == 4, "deleted events stay deleted"
        assert await store.trim("s", keep=0, before=0.0) == 6
        assert await store.events("s", 0, 100) == Page(6, [], 6, 5, NOW)
        assert await commit_one(store, post(6)) == 6, "numbers continue"
        assert numbered(await store.events("s", 5, 100)) == [event_at(6, 6)]
        assert await store.trim("unknown", keep=1, before=0.0) == 1

    async def test_b8_sessions_with_old_events_are_found(self, store: Store) -> None:
        await store.commit([create("a"), Change("a", events=[event(at=NOW + n) for n in range(3)]), create("b")])
        await store.commit([create("c"), Change("c", events=[event(at=NOW + 5)])])
        every = ["c", "b", "a", "unknown", "a", "\x00"]

        async def found(keep: int, before: float, ids: Sequence[str] = every) -> list[str]:
            return await store.sessions_to_trim(ids, keep=keep, before=before)

        assert await found(3, NOW) == []
        assert await found(2, NOW) == ["a"]
        assert await found(0, NOW) == ["a", "c"], "one has no events"
        assert await found(NO_LIMIT, NOW + 1) == ["a"]
        assert await found(NO_LIMIT, NOW + 9) == ["a", "c"]
        assert await found(0, NOW + 9, ["c"]) == ["c"]
        assert await found(0, NOW + 9, []) == []
        await store.trim("a", keep=1, before=0.0)
        assert await found(1, NOW + 2) == []
        assert await found(NO_LIMIT, NOW + 3) == ["a"]
        await store.trim("a", keep=0, before=0.0)
        assert await found(0, NOW + 9, ["a"]) == []

    async def test_b8_trim_deletes_oldest_events_by_age(self, store: Store) -> None:
        times = [NOW, NOW + 1, NOW + 0.5, NOW + 2]
        await store.commit([create(), Change("s", events=[event(at=time) for time in times])])
        assert await store.trim("s", keep=100, before=NOW) == 1
        assert await store.trim("s", keep=100, before=NOW + 1) == 2, "an old event after a newer one stays"
        assert await store.trim("s", keep=1, before=NOW + 1) == 4, "the stricter of the two limits applies"
        assert await store.trim("s", keep=100, before=NOW + 9) == 5
        row = await stored_session(store)
        assert (row.first_seq, row.last_seq) == (5, 4)

    async def test_b8_trim_keeps_events_from_the_first_undelivered_input_on(self, store: Store) -> None:
        inputs = [input_row(f"i{number}") for number in range(3)]
        await store.commit([create(), post(1), *(add(row) for row in inputs), post(5, 6)])
        await store.commit([add(execution_row("x")), Change("s", events=[event(kind="user_input")])])
        assert await store.trim("s", keep=0, before=NOW + 9) == 2, "events before the first input are deleted"
        await store.commit([Change("s", deliveries=[Delivery("i1", NOW)])])
        assert await store.trim("s", keep=1, before=0.0) == 2, "the first input is not delivered"
        await store.commit([Change("s", deliveries=[Delivery("i0", NOW)])])
        assert await store.trim("s", keep=1, before=0.0) == 4
        assert await store.trim("s", keep=4, before=0.0) == 4, "the newest events are kept"
        await store.commit([Change("s", deliveries=[Delivery("i2", NOW)])])
        assert await store.trim("s", keep=1, before=0.0) == 7, "running executions keep no events"

    async def test_b1_page_of_events_ends_at_its_size_limit(self, store: Store) -> None:
        await store.commit([create(), Change("s", events=[event(n) for n in range(40)])])
        size = len(event(10))
        page = await store.events("s", 3, 30, max_bytes=2 * size + size // 2)
        assert (page.first, len(page.lines), page.last_seq) == (4, 3, 40)
        assert len((await store.events("s", 0, 30, max_bytes=0)).lines) == 1, "a page has at least one event"
        assert len((await store.events("s", 0, 30, max_bytes=1_000_000)).lines) == 30
        assert len((await store.events("s", 35, 30, max_bytes=1_000_000)).lines) == 5
        assert (await store.events("unknown", 0, 30, max_bytes=100)).lines == []
