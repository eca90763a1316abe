"""Contract of a store: turns and inputs are written with a change, owned by a process and recovered."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ...storage.change import Change, Delivery
from ...storage.owners import RECOVERING, Claim, Recovered
from ...storage.rows import InputRow, TurnRow
from ...storage.store import Store
from ..store_rows import (
    NOW,
    add,
    create,
    ended_turn,
    execution_row,
    finished_row,
    input_row,
    owner_row,
    post,
    turn_row,
    update,
)
from .contract import Contract, refused


async def _usage(store: Store) -> dict[str, Any]:
    """The usage of all sessions of a test, by session."""
    found = await store.usage(["s", "other", "idle", "unknown"])
    return {session_id: json.loads(usage) for session_id, usage in found.items()}


class ConversationContract(Contract):
    async def test_e5_turn_is_read_as_it_was_written(self, store: Store) -> None:
        paused = ended_turn(turn_id="t", status="paused")
        resumed = turn_row(2, turn_id="t", started_at=NOW + 5)
        await store.commit([create(), create("other"), add(turn_row(turn_id="t")), update(paused, "p1"), add(resumed)])
        assert await store.turn("s", 1) == paused
        assert await store.turn("s", 2) == resumed
        assert await store.turn("s", 3) is None
        assert await store.turn("other", 1) is None
        assert await store.running_turns(["s", "other", "unknown"]) == [resumed]
        assert await store.running_turns([]) == []
        await store.commit([update(ended_turn(2, turn_id="t"), "p1")])
        assert await store.running_turns(["s"]) == []

    async def test_c7_usage_of_a_conversation_is_that_of_its_newest_turn(self, store: Store) -> None:
        first, second = b'{"requests":1,"cost":0.25}', b'{"requests":3,"cost":null}'
        await store.commit([create(), create("other"), create("idle"), add(turn_row(usage=first))])
        await store.commit([add(turn_row(1, "other"))])
        assert await _usage(store) == {"s": {"requests": 1, "cost": 0.25}}
        assert await store.usage([]) == {}
        await store.commit([update(ended_turn(usage=second), "p1"), add(turn_row(1, "idle", usage=first))])
        assert await _usage(store) == {"s": {"requests": 3, "cost": None}, "idle": {"requests": 1, "cost": 0.25}}
        await store.commit([add(turn_row(2))])
        assert await _usage(store) == {"idle": {"requests": 1, "cost": 0.25}}, "the newest turn has none"
        listed = await store.recent_sessions("ann", now=NOW)
        assert {each.row.id: each.usage is not None for each in listed} == {"s": False, "other": False, "idle": True}

    async def test_c7_calls_of_a_session_are_counted_in_the_list(self, store: Store) -> None:
        await store.commit([create(), add(execution_row("x")), add(execution_row("y")), update(finished_row("x"))])
        assert [each.calls for each in await store.recent_sessions("ann", now=NOW)] == [2]

    async def test_e5_a_turn_is_written_only_by_its_process(self, store: Store) -> None:
        await store.commit([create(), add(turn_row())])
        await refused(store, add(turn_row(owner="p2")), "has a turn 1 already")
        await refused(store, update(turn_row(2)), "There is no turn 2")
        await refused(store, update(ended_turn(), "p2"), "no longer held by p2")
        await refused(store, replace(add(turn_row(1, "other")), session_id="s"), "not one of session s")
        await refused(store, Change("s", stop_turns=[7]), "There is no turn 7")
        assert await store.turn("s", 1) == turn_row()
        assert (await store.events("s", 0, 9)).lines == []

    async def test_x8_cancelled_turn_stays_cancelled(self, store: Store) -> None:
        await store.commit([create(), add(turn_row())])
        await store.commit([Change("s", stop_turns=[1])])
        assert await store.turn("s", 1) == turn_row(cancelling=True)
        await store.commit([update(turn_row(), "p1")])
        assert await store.turn("s", 1) == turn_row(cancelling=True), "a later write does not reset it"
        await store.commit([update(ended_turn(), "p1"), add(ended_turn(2))])
        await store.commit([Change("s", stop_turns=[2])])
        assert await store.turn("s", 2) == ended_turn(2), "a turn that has ended stays as it is"

    async def test_c4_an_input_is_accepted_once(self, store: Store) -> None:
        await store.commit([create(), create("other"), add(input_row("a")), add(input_row("a", "other"))])
        await refused(store, add(input_row("a", owner="p2")), "has an input a already")
        await refused(store, Change("s", inputs=[input_row("b"), input_row("b")]), "has an input b already")
        await refused(store, Change("s", inputs=[input_row("c", "other")]), "not one of session s")
        await refused(store, Change("s", deliveries=[Delivery("b", NOW)]), "There is no input b")
        await store.commit([Change("s", deliveries=[Delivery("a", NOW + 2)], transcript=[b"1"])])
        assert await store.inputs("s", ["b", "a", "a"]) == [input_row("a", delivered_at=NOW + 2)]
        await refused(store, add(input_row("a")), "has an input a already")
        assert await store.inputs("s", []) == await store.inputs("unknown", ["a"]) == []
        assert await store.inputs("other", ["a"]) == [input_row("a", "other")]

    async def test_c4_an_input_may_be_delivered_in_the_group_that_stores_it(self, store: Store) -> None:
        delivered = Change("s", deliveries=[Delivery("a", NOW + 1)])
        assert await store.commit([create(), add(input_row("a")), delivered, post(1)]) == [0, 1, 1, 2]
        assert await store.inputs("s", ["a"]) == [input_row("a", delivered_at=NOW + 1)]

    async def test_e5_turns_and_inputs_of_a_dead_process_are_given_to_its_heir(self, store: Store) -> None:
        await store.join(owner_row("dead"))
        await store.join(owner_row("alive"))
        turns = [turn_row(owner="dead"), turn_row(1, "b", owner="dead")]
        inputs = [input_row("i", owner="dead"), input_row("j", "b", owner="dead")]
        kept = [ended_turn(2, owner="dead"), turn_row(3, owner="alive")]
        others = [input_row("k", owner="dead", delivered_at=NOW), input_row("l", owner="alive")]
        await store.commit([create(), create("b"), add(execution_row("x", owner="dead"))])
        await store.commit([*map(add, (*turns, *kept)), *map(add, (*inputs, *others))])
        call = Claim("s", "x", "ann", "tool")
        of_turns = [Claim("b", "t1", "ann", "turn"), Claim("s", "t1", "ann", "turn")]
        of_inputs = [Claim("b", "j", "ann", "input"), Claim("s", "i", "ann", "input")]
        first = await store.recover("dead", 0, "heir", limit=2)
        assert first == Recovered([call, *of_turns[:1]], more=True, found=True)
        second = await store.recover("dead", RECOVERING, "heir", limit=9)
        assert second == Recovered([*of_turns[1:], *of_inputs], found=True)
        assert [row.id for row in await store.owners()] == ["alive"]
        assert await store.running_turns(["s", "b"]) == [
            replace(turns[1], owner="heir"),
            replace(turns[0], owner="heir"),
            kept[1],
        ]
        assert [row.owner for row in await store.inputs("s", ["i", "k", "l"])] == ["heir", "dead", "alive"]
        await refused(store, update(ended_turn(owner="dead"), "dead"), "no longer held by dead")
        await store.commit([update(ended_turn(owner="heir"), "heir")])

    async def test_e5_an_heir_without_a_model_leaves_turns_and_inputs_to_another(self, store: Store) -> None:
        await store.join(owner_row("dead"))
        calls = [execution_row(each, call_id=each, owner="dead") for each in ("x", "y")]
        await store.commit([create(), *map(add, calls), add(turn_row(owner="dead")), add(input_row(owner="dead"))])
        cancelled = turn_row(1, "b", turn_id="t2", owner="dead", cancelling=True)
        await store.commit([create("b"), add(cancelled), add(input_row("j", "b", owner="dead"))])
        for expected in (Claim("s", "x", "ann", "tool"), Claim("s", "y", "ann", "tool")):
            beat = (await store.owners())[0].beat
            step = await store.recover("dead", beat, "heir", limit=1, conversations=False)
            assert step == Recovered([expected], more=True, found=True)
        last = await store.recover("dead", RECOVERING, "heir", limit=1, conversations=False)
        assert last == Recovered([Claim("b", "t2", "ann", "turn")], found=True)
        assert await store.owners() == [owner_row("dead", beat=RECOVERING)]
        again = await store.recover("dead", RECOVERING, "heir", conversations=False)
        assert again == Recovered([], found=True)
        rest = await store.recover("dead", RECOVERING, "model")
        claims = [Claim("s", "t1", "ann", "turn"), Claim("b", "j", "ann", "input"), Claim("s", "i", "ann", "input")]
        assert rest == Recovered(claims, found=True)
        assert await store.owners() == []

    @pytest.mark.parametrize("row", [turn_row(owner="p"), input_row(owner="p")], ids=["turn", "input"])
    async def test_e5_a_process_that_leaves_a_turn_or_an_input_behind_is_remembered(
        self, store: Store, row: TurnRow | InputRow
    ) -> None:
        await store.join(owner_row("p"))
        await store.commit([create(), add(row)])
        await store.leave("p")
        assert await store.owners() == [owner_row("p", beat=-1)]
        assert len((await store.recover("p", -1, "heir")).claims) == 1
        assert await store.owners() == []

    async def test_e2_turns_and_inputs_are_deleted_with_their_session(self, store: Store) -> None:
        await store.commit([create(), add(turn_row()), add(input_row())])
        assert await store.delete("s")
        await store.commit([create()])
        assert await store.turn("s", 1) is None
        assert await store.inputs("s", ["i"]) == []

    @pytest.mark.parametrize(
        "name", ["'; DROP TABLE turns; --", "%s %(rows)s :id ? $1", "\u00e4\u20ac\U0001f600\x7f\n", "x" * 200]
    )
    async def test_e2_names_of_turns_and_inputs_are_never_interpreted(self, store: Store, name: str) -> None:
        turn = turn_row(1, name, turn_id=name, user_id=name, owner=name)
        stored = input_row(name, name, user_id=name, owner=name)
        await store.join(owner_row(name))
        await store.commit([create(name, user_id=name), add(turn), Change(name, inputs=[stored], stop_turns=[1])])
        assert await store.running_turns([name]) == [replace(turn, cancelling=True)]
        assert await store.inputs(name, [name]) == [stored]
        assert await store.stopping(name) == [(name, name, "turn")]
        claims = (await store.recover(name, 0, "heir")).claims
        assert claims == [Claim(name, name, name, "turn"), Claim(name, name, name, "input")]

    async def test_e2_unstorable_names_of_turns_and_inputs_are_refused(self, store: Store) -> None:
        await store.commit([create()])
        await refused(store, add(turn_row(turn_id="a\0b")), "NUL")
        await refused(store, add(input_row("i", owner="\ud800")), "lone surrogate")
