"""Contract of a store: notes are kept per user, and a search finds the notes and messages of its user only."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ...storage.change import Change, TitleWrite
from ...storage.errors import Conflict
from ...storage.memory_records import NotesFull
from ...storage.search_words import MAX_TEXT
from ...storage.snippets import SNIPPET_LENGTH
from ...storage.store import Store
from ...user_memory import MemoryHit, MemorySource, NotePosition
from ..store_rows import NOW, create, memory_query, note, say
from .contract import Contract

HOSTILE = [
    "",
    "AND",
    "NOT OR AND",
    '"',
    "'; DROP TABLE notes; --",
    "a\\",
    "(",
    "words : x",
    "NEAR(a b)",
    "^a",
    "{a b} : c",
    "a*",
    "*",
    "!a & b | (c)",
    "a <-> b",
    ":*",
    "\0",
    "a\0b",
    "\ud800",
    "\ud800a",
    "%_",
    "é" * 10_000,
    "word " * 20_000,
    "x" * 100_000,
    "\U0001f600 \u202e",
]


async def found(store: Store, text: str, user_id: str = "ann", **fields: Any) -> list[str]:
    """Return the texts that a search finds."""
    return [hit.text for hit in await store.search_memory(memory_query(text, user_id, **fields))]


class MemoryContract(Contract):
    async def test_k1_note_is_read_as_it_was_saved(self, store: Store) -> None:
        full = note("Wi\u00adfi", "ä\n\t'quoted' \U0001f511", tags=("home", "a b"), updated_at=NOW + 0.125)
        assert await store.save_note("ann", full, most=9) == full
        assert await store.note("ann", full.key) == full
        assert await store.note("ann", "wi\u00adfi") is None
        assert await store.note("bob", full.key) is None

    async def test_k1_saving_a_key_again_replaces_the_note(self, store: Store) -> None:
        await store.save_note("ann", note("k", "green tea", tags=("x",)), most=1)
        again = note("k", "black coffee", created_at=NOW + 5, updated_at=NOW + 5)
        assert await store.save_note("ann", again, most=1) == replace(again, created_at=NOW)
        assert await store.notes("ann") == [replace(again, created_at=NOW)]
        assert await found(store, "tea") == []
        assert await found(store, "coffee") == ["black coffee"]

    async def test_k1_number_of_notes_is_limited_per_user(self, store: Store) -> None:
        for key in ("a", "b"):
            await store.save_note("ann", note(key), most=2)
        with pytest.raises(NotesFull, match="has 2 notes"):
            await store.save_note("ann", note("c"), most=2)
        await store.save_note("bob", note("c"), most=2)
        await store.save_note("ann", note("a", "new"), most=2)
        assert await store.delete_note("ann", "b")
        await store.save_note("ann", note("c"), most=2)
        assert {each.key for each in await store.notes("ann")} == {"a", "c"}

    async def test_k1_notes_are_listed_in_pages_the_last_saved_first(self, store: Store) -> None:
        for number, key in enumerate("dacb"):
            tags = ("even",) if number % 2 == 0 else ("uneven", "even more")
            await store.save_note("ann", note(key, updated_at=NOW + number // 2, tags=tags), most=9)
        await store.save_note("bob", note("z"), most=9)
        listed = await store.notes("ann")
        assert [each.key for each in listed] == ["c", "b", "d", "a"]
        first = await store.notes("ann", limit=3)
        rest = await store.notes("ann", before=first[-1].position, limit=3)
        assert first + rest == listed
        assert [each.key for each in await store.notes("ann", tag="even")] == ["c", "d"]
        assert await store.notes("ann", tag="eve") == await store.notes("ann", tag="%") == []
        assert await store.notes("ann", before=NotePosition(0.0, "")) == []

    async def test_k1_deleted_note_is_gone(self, store: Store) -> None:
        await store.save_note("ann", note("k", "apple"), most=9)
        assert not await store.delete_note("bob", "k")
        assert await store.delete_note("ann", "k")
        assert not await store.delete_note("ann", "k")
        assert await store.note("ann", "k") is None
        assert await found(store, "apple") == []

    async def test_k1_notes_saved_at_once_are_all_saved(self, store: Store) -> None:
        await asyncio.gather(*(store.save_note("ann", note(f"k{number}", "same"), most=99) for number in range(20)))
        await asyncio.gather(*(store.save_note("ann", note("k0", f"n{number}"), most=99) for number in range(5)))
        assert len(await store.notes("ann")) == 20
        assert len(await store.search_memory(memory_query("same", limit=99))) == 19

    @pytest.mark.parametrize("text", ["\0", "\ud800"])
    async def test_k1_note_that_no_database_can_hold_is_refused(self, store: Store, text: str) -> None:
        for bad in (note("k", text), note(text), note("k", tags=(text,))):
            with pytest.raises(Conflict, match="character"):
                await store.save_note("ann", bad, most=9)
        assert await store.note("ann", text) is None
        assert await store.notes(text) == await store.notes("ann", tag=text) == []
        assert not await store.delete_note(text, text)

    async def test_k1_hits_say_where_they_are_from(self, store: Store) -> None:
        await store.commit([create(), Change("s", title=TitleWrite("Trip", automatic=True))])
        await store.commit([say("Paris is nice.", at=NOW + 1)])
        await store.commit([say("Yes, Paris.", role="assistant", at=NOW + 2)])
        await store.save_note("ann", note("hotel", "In Paris", tags=("trip",), updated_at=NOW + 3), most=9)
        hits = await store.search_memory(memory_query("paris"))
        assert all(hit.score > 0 for hit in hits)
        told: dict[str, Any] = {"source": MemorySource.CONVERSATION, "session_id": "s", "title": "Trip", "score": 0.0}
        assert sorted((replace(hit, score=0.0) for hit in hits), key=lambda hit: hit.at) == [
            MemoryHit(text="Paris is nice.", at=NOW + 1, role="user", **told),
            MemoryHit(text="Yes, Paris.", at=NOW + 2, role="assistant", **told),
            MemoryHit(source=MemorySource.NOTE, text="In Paris", at=NOW + 3, key="hotel", tags=("trip",), score=0.0),
        ]
        await store.commit([Change("s", title=TitleWrite("Mine"))])
        assert "Mine" in {hit.title for hit in await store.search_memory(memory_query("paris"))}

    async def test_k1_words_are_found_without_case_accents_and_endings(self, store: Store) -> None:
        texts = [
            "Crème BRÛLÉE",
            "deployment_key=42",
            "東京タワーに行く",
            "Straße 7",
            "ﬁne",
            "हिन्दी भाषा",
            "e\u0301t\u00e9",
        ]
        await store.commit([create(), say(*texts)])
        for query, place in (
            ("creme brulee", 0),
            ("DEPLOY", 1),
            ("42", 1),
            ("東京", 2),
            ("strasse", 3),
            ("fine", 4),
            ("हिन्दी", 5),
            ("ÉTÉ", 6),
        ):
            assert await found(store, query) == [texts[place]], query
        assert await found(store, "ployment") == []
        assert await found(store, "4") == [], "short words are not extended"

    async def test_k1_key_and_tags_of_a_note_are_searched(self, store: Store) -> None:
        await store.save_note("ann", note("router password", "hunter2", tags=("home-office",)), most=9)
        assert await found(store, "router") == await found(store, "office password") == ["hunter2"]

    async def test_k1_entries_with_all_words_come_first_and_rare_words_count_more(self, store: Store) -> None:
        await store.commit([create(), *(say(f"the the the the word{n} tea") for n in range(30))])
        await store.commit([say("the zebra drinks water, and then it goes home to sleep")])
        assert await found(store, "the tea word7") == ["the the the the word7 tea"]
        first = (await found(store, "what about the zebra", limit=3))[0]
        assert "zebra" in first, "where no entry has all words"
        assert await found(store, "nothing like this") == []

    async def test_k1_better_hits_come_first(self, store: Store) -> None:
        filler = " ".join(f"filler{n}" for n in range(300))
        await store.commit([create(), say(f"whale {filler}"), say("whale whale"), say(f"{filler} whale {filler}")])
        assert (await found(store, "whale"))[0] == "whale whale"

    async def test_k1_age_is_limited_for_notes_and_for_messages(self, store: Store) -> None:
        await store.commit([create(), say("tea one", at=NOW), say("tea two", at=NOW + 10)])
        await store.save_note("ann", note("a", "tea three"), most=9)
        await store.save_note("ann", note("b", "tea four", updated_at=NOW + 10), most=9)
        assert sorted(await found(store, "tea", notes_since=NOW + 10)) == ["tea four", "tea one", "tea two"]
        assert sorted(await found(store, "tea", messages_since=NOW + 10)) == ["tea four", "tea three", "tea two"]
        assert await found(store, "tea", notes_since=NOW + 11, messages_since=NOW + 11) == []

    async def test_k1_number_and_length_of_hits_are_limited(self, store: Store) -> None:
        await store.commit([create(), *(say(f"tea {n} " + "x " * 5_000) for n in range(5)), say("y " * MAX_TEXT + "z")])
        hits = await store.search_memory(memory_query("tea", limit=3))
        assert len(hits) == 3
        assert all(len(hit.text) <= SNIPPET_LENGTH for hit in hits)
        assert await store.search_memory(memory_query("tea", limit=0)) == []
        assert await found(store, "z") == [], "beyond the part of a text that is searched"

    async def test_k1_extract_shows_the_words_that_were_found(self, store: Store) -> None:
        long = "nothing here. " * 200
        await store.commit(
            [create(), say(f"{long} the Lighthouse of Alexandria {long}"), say("灯" * 900 + "台" + "灯" * 900)]
        )
        assert "Lighthouse of Alexandria" in (await found(store, "alexandria lighthouse"))[0]
        assert "台" in (await found(store, "台"))[0]

    async def test_k1_other_users_are_never_found(self, store: Store) -> None:
        await store.commit([create(), create("t", user_id="bob")])
        await store.commit([say("secret of ann"), say("secret of bob", session_id="t")])
        await store.save_note("ann", note("k", "secret note of ann"), most=9)
        await store.save_note("bob", note("k", "secret note of bob"), most=9)
        for user in ("ann", "bob"):
            texts = await found(store, "secret", user)
            assert len(texts) == 2
            assert all(text.endswith(user) for text in texts)
        for stranger in ("", "an", "ANN", "ann ", "\0", "\ud800", "%"):
            assert await found(store, "secret", stranger) == []

    async def test_k1_messages_of_a_session_can_be_left_out(self, store: Store) -> None:
        await store.commit([create(), create("t"), say("tea here"), say("tea there", session_id="t")])
        assert await found(store, "tea", without_session="s") == ["tea there"]

    async def test_k1_messages_of_a_deleted_session_are_not_found(self, store: Store) -> None:
        await store.commit([create(), create("t"), say("tea here"), say("tea there", session_id="t")])
        assert await store.delete("s")
        assert await found(store, "tea") == ["tea there"]
        await store.commit([create(), say("coffee")])
        assert await found(store, "coffee") == ["coffee"]
        assert await found(store, "tea") == ["tea there"]

    async def test_k1_only_messages_are_found(self, store: Store) -> None:
        others = [b'{"kind":"answered","content":"tea"}', b'"tea"', b'{"kind":"noted","text":"tea"}', b"1"]
        broken = [b'{"kind":"input"}', b'{"kind":"input","text":5}', b'{"kind":"said","message":[{"parts":[5]}]}']
        called = b'{"kind":"said","message":[{"parts":[{"part_kind":"tool-call","args":"tea"}],"kind":"response"}]}'
        await store.commit([create(), Change("s", transcript=[*others, *broken, called], said_at=NOW)])
        await store.commit([Change("s", transcript=say("tea").transcript)])
        assert await found(store, "tea") == [], "entries without a time are not found either"
        assert len(await store.transcript("s")) == 9

    async def test_k1_message_of_a_refused_change_is_not_found(self, store: Store) -> None:
        await store.commit([create()])
        refused = replace(say("tea"), entries=5)
        assert isinstance((await store.commit([refused, say("coffee")]))[0], Conflict)
        assert await found(store, "tea") == []
        assert await found(store, "coffee") == ["coffee"]

    @pytest.mark.parametrize("text", HOSTILE)
    async def test_k1_hostile_texts_are_searched_and_found_like_others(self, store: Store, text: str) -> None:
        storable = text.encode(errors="replace").decode()
        await store.commit([create(), say(f"{storable} lighthouse"), say("unrelated")])
        for query in (text, f"lighthouse {text}", f"{text} lighthouse"):
            assert isinstance(await found(store, query), list)
        assert len(await found(store, "lighthouse")) == (len(text) < MAX_TEXT)
