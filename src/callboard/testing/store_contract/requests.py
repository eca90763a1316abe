"""Contract of a store: requests change only from the status that they have, and are listed."""

import json
from dataclasses import replace

from ...storage.change import Change, RequestWrite
from ...storage.store import Store
from ..store_rows import NOW, add, close, create, execution_row, request_row
from .contract import Contract, commit_one, refusals, refused


class RequestContract(Contract):
    async def test_m3_closed_requests_are_found_among_others(self, store: Store) -> None:
        rows = [request_row(f"r{number}") for number in range(4)]
        await store.commit([create(), *(add(row) for row in rows)])
        assert await store.closed_requests([row.id for row in rows]) == []
        closed = [replace(rows[2], status="answered", answer=b"1"), replace(rows[1], status="withdrawn")]
        await store.commit([close(row) for row in closed])
        assert await store.closed_requests(["r3", "r2", "r1", "r0", "unknown"]) == closed[::-1]
        assert await store.closed_requests(["r0", "r2"]) == closed[:1]
        assert await store.closed_requests([]) == []

    async def test_requests_are_read_as_they_were_written(self, store: Store) -> None:
        await commit_one(store, create())
        row = request_row(
            kind="wallet_tx_request",
            purpose="wallet",
            payload=b"[1]",
            answer=b"null",
            status="answered",
            created_at=NOW + 0.1,
            expires_at=NOW + 0.2,
            answered_at=NOW + 0.3,
        )
        await commit_one(store, add(row))
        stored = await store.request("r")
        assert stored is not None
        assert json.loads(stored.schema) == json.loads(row.schema)
        assert replace(stored, schema=row.schema) == row
        assert await store.request("other") is None

    async def test_request_is_changed_only_from_its_current_status(self, store: Store) -> None:
        await store.commit([create(), create("t"), add(request_row())])
        await refused(store, add(request_row()), "there already")
        await refused(store, add(request_row("r", "t")), "there already")
        await refused(store, close(request_row(status="used"), was="answered"), "is open, not answered")
        await refused(store, close(request_row("q")), "no request q")
        await refused(store, close(request_row("r", "t", status="answered")), "no request r in session t")
        await refused(store, replace(add(request_row()), session_id="t"), "not one of session t")
        answered = request_row(status="answered", answer=b"1", answered_at=NOW)
        results = await store.commit([close(answered), close(replace(answered, answer=b"2")), add(request_row("q"))])
        assert refusals(results) == [False, True, False], "the first answer counts"
        assert await store.request("r") == answered
        used = [RequestWrite(request_row("n")), RequestWrite(request_row("n", status="used"), was="open")]
        await commit_one(store, Change("s", requests=used))
        assert await store.request("n") == request_row("n", status="used")

    async def test_requests_are_listed_oldest_first(self, store: Store) -> None:
        await store.commit([create("a"), create("b", user_id="bob")])
        rows = [
            request_row("3", "b", user_id="bob"),
            request_row("1", "a"),
            request_row("2", "a", status="used"),
            request_row("0", "b", user_id="bob", status="answered"),
        ]
        for row in rows:
            await commit_one(store, add(row))
        await commit_one(store, close(replace(rows[1], status="answered")))
        rows[1] = replace(rows[1], status="answered")
        assert await store.requests() == rows, "an update keeps the order"
        assert await store.requests(session_id="a") == rows[1:3]
        assert await store.requests(user_id="bob") == [rows[0], rows[3]]
        assert await store.requests(status="answered") == [rows[1], rows[3]]
        assert await store.requests(session_id="b", user_id="bob", status="open") == [rows[0]]
        assert await store.requests(session_id="a", user_id="bob") == []
        assert await store.requests(limit=2) == rows[:2]

    async def test_m3_due_requests_are_found_among_any_number_of_others(self, store: Store) -> None:
        await store.commit([create("a")])
        rows = [
            request_row(f"{number}", "a", expires_at=at) for number, at in enumerate([None, NOW + 2, NOW + 1, None])
        ]
        for row in rows:
            await commit_one(store, add(row))
        assert await store.requests(due=NOW) == []
        assert await store.requests(due=NOW + 1) == [rows[2]]
        assert await store.requests(due=NOW + 5, limit=1) == [rows[1]]
        assert await store.requests(due=NOW + 5, status="used") == []

    async def test_m3_next_expiry_is_that_of_the_first_open_request(self, store: Store) -> None:
        assert await store.next_expiry() is None
        await store.commit([create(), add(request_row("r1")), add(request_row("r2", expires_at=NOW + 7))])
        await store.commit([add(request_row("r3", expires_at=NOW + 5)), add(request_row("r4", expires_at=NOW + 6))])
        assert await store.next_expiry() == NOW + 5
        await commit_one(store, close(request_row("r3", expires_at=NOW + 5, status="expired")))
        assert await store.next_expiry() == NOW + 6

    async def test_h1_requests_are_listed_in_pages(self, store: Store) -> None:
        await store.commit([create(), create("s2"), create("theirs", user_id="bob")])
        for n in range(5):
            await store.commit([add(execution_row(f"x{n}")), add(request_row(f"r{n}", execution_id=f"x{n}"))])
        found = await store.brief_requests(user_id="ann", status="open", limit=2, longest=1_000)
        assert [each.row.id for each in found] == ["r0", "r1"]
        found = await store.brief_requests(user_id="ann", session_id="s", after="r1", limit=2, longest=1_000)
        assert [each.row.id for each in found] == ["r2", "r3"]
        assert not await store.brief_requests(user_id="bob", limit=2, longest=1_000)
        assert not await store.brief_requests(user_id="ann", session_id="s2", limit=2, longest=1_000)
        assert not await store.brief_requests(user_id="ann", after="r4", limit=2, longest=1_000)
        assert not await store.brief_requests(user_id="ann", after="unknown", limit=2, longest=1_000)
        for n, status in ((1, "used"), (3, "expired"), (4, "refused")):
            await commit_one(store, close(request_row(f"r{n}", execution_id=f"x{n}", status=status)))
        found = await store.brief_requests(user_id="ann", closed=True, limit=2, longest=1_000)
        assert [each.row.id for each in found] == ["r4", "r3"], "closed ones begin with the newest"
        found = await store.brief_requests(
            user_id="ann", session_id="s", closed=True, after="r3", limit=2, longest=1_000
        )
        assert [each.row.id for each in found] == ["r1"]
        assert not await store.brief_requests(user_id="bob", closed=True, limit=2, longest=1_000)
        [cut] = await store.brief_requests(user_id="ann", limit=1, longest=1)
        assert cut.row.payload == b"null"
        assert cut.cut["payload"].length == len(request_row("r0").payload)
