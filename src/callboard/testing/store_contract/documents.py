"""Contract of a store: documents and names of any content are stored unaltered, or refused alone."""

import json
from dataclasses import replace

import pytest

from ...storage.change import Change
from ...storage.errors import Conflict
from ...storage.event_log import Head
from ...storage.store import Store
from ..store_rows import NOW, add, claims, create, event, execution_row, owner_row, post, request_row, session_row
from .contract import Contract, canonical, commit_one, refusals, stored_execution

DOCUMENTS: dict[str, str] = {
    "nul": '{"t":"a\\u0000b","\\u0000":1}',
    "lone surrogates": '["\\ud800","\\udfff x","\\ud83d\\ude00"]',
    "surrogates the wrong way round": '"\\udc00\\ud800"',
    "a number that no float holds": '{"n":1e400,"m":-1E+400,"o":[1e-400]}',
    "a float that no integer equals": "[1e23,1.7976931348623157e308,5e-324,123e22]",
    "integers without end": f'{{"n":{10**400},"m":-{7**900}}}',
    "an integer beyond what databases count to": "1" + "0" * 140_000,
    "the smallest differences": "[0.1,0.30000000000000004,1.0,1,100.50,-1]",
    "nothing, negative": '{"a":-0.0,"b":-0}',
    "deep nesting": "[" * 30_000 + "]" * 30_000,
    "our own wrapper": '{"$json":"{}"}',
    "our own wrapper, hidden": '{"longer than that":1,"\\u0024json":"{}"}',
    "keys given twice": '{"a":1,"a":2}',
    "text that looks like structure": '"],[\\"s\\",1,\\"k\\",0,\\"{}\\"]"',
    "quotes and backslashes": '{"\\"\\\\":"\\\\u0000 \\/ \' %s %% :a ?"}',
    "every plane": json.dumps("ä€\U0001f600\x7f\x80\u2028", ensure_ascii=False),
    "null": "null",
    "text": '"text"',
    "much": json.dumps({"t": "äx" * 400_000}),
}

UNSTORABLE = ["\u0000", "a\u0000b", "\ud800", "a\udfffb"]
"""Names that no database can hold."""


class DocumentContract(Contract):
    @pytest.mark.parametrize("name", DOCUMENTS)
    async def test_e5_documents_are_never_altered(self, store: Store, name: str) -> None:
        document = DOCUMENTS[name].encode()
        body = b'{"kind":"k","at":"2027-01-15T08:00:00.000Z","data":%b}' % document
        row = execution_row(
            document=document, display_arguments=document, value=document, error=document, errors=b"[%b]" % document
        )
        request = add(request_row(payload=document, schema=document, answer=document))
        change = replace(
            add(row), session=session_row(), requests=request.requests, transcript=[document], events=[body]
        )
        assert await store.commit([create("before"), change, create("after")]) == [0, 1, 0]
        stored, asked = await stored_execution(store), await store.request("r")
        assert asked is not None
        assert stored.document == document, "byte for byte"
        assert await store.transcript("s") == [document], "byte for byte"
        (line,) = (await store.events("s", 0, 9)).lines
        documents = (stored.display_arguments, stored.value, stored.error, asked.payload, asked.schema, asked.answer)
        for kept, written in [*((kept, document) for kept in documents), (stored.errors, row.errors), (line, body)]:
            assert kept is not None
            assert kept == written or canonical(kept) == canonical(written)

    @pytest.mark.parametrize("name", UNSTORABLE)
    async def test_e2_unstorable_ids_of_sessions_are_refused_and_not_found(self, store: Store, name: str) -> None:
        results = await store.commit([create("before"), create(name), Change(name, events=[event()]), create("after")])
        assert refusals(results) == [False, True, True, False]
        assert [row.id for row in await store.sessions()] == ["after", "before"]
        assert await store.session(name) is None
        assert await store.sessions(name) == []
        assert await store.heads(["before"]) == {"before": Head(0, NOW)}
        assert (await store.events(name, 0, 9)).lines == []
        assert await store.execution("before", name) is None
        assert await store.execution_of_call("before", name) is None
        assert await store.executions("before", ids=[name]) == []
        assert await store.request(name) is None
        assert await store.requests(user_id=name) == []
        assert await store.transcript(name) == []
        assert await store.delete(name) is False
        assert await store.trim(name, keep=1, before=0.0) == 1

    @pytest.mark.parametrize("name", UNSTORABLE)
    async def test_e2_change_with_unstorable_text_is_refused_alone(self, store: Store, name: str) -> None:
        await commit_one(store, create())
        unfit = [
            create("t", user_id=name),
            create("t", channel=name),
            *(add(execution_row(**{field: name})) for field in ("call_id", "tool", "parent_id", "owner")),
            add(execution_row(name)),
            add(request_row(name)),
            add(request_row(tool=name)),
            Change("s", late=[name]),
            Change("s", cancel=[name], events=[event()]),
        ]
        results = await store.commit([post(1), *unfit, add(execution_row("y")), post(2)])
        assert [result for result in results if not isinstance(result, Conflict)] == [1, 1, 2]
        assert [row.id for row in await store.sessions()] == ["s"]
        assert [row.id for row in await store.executions("s")] == ["y"]
        assert await store.requests() == []

    @pytest.mark.parametrize(
        "names",
        [
            "'; DROP TABLE sessions; --",
            '"],["s",9,"k",0,"{}"]',
            "%s %(rows)s :id ? $1",
            "ä€\U0001f600\u2028\x7f\x01\n",
            "x" * 200,
        ],
    )
    async def test_e2_names_are_never_interpreted(self, store: Store, names: str) -> None:
        row = session_row(names, user_id=names, namespaces=(names,), channel=names, allow=(names,), tools=(names,))
        await commit_one(store, Change(names, session=row))
        execution = execution_row(
            names, names, user_id=names, call_id=names, tool=names, fingerprint=names, owner=names
        )
        request = request_row(names, names, user_id=names, execution_id=names, tool=names)
        await commit_one(store, add(execution))
        await commit_one(store, add(request))
        assert await commit_one(store, Change(names, late=[names], cancel=[names], events=[event()])) == 1
        assert await store.session(names) == replace(row, last_seq=1, active_at=NOW, unconsumed=(names,))
        assert await store.execution(names, names) == replace(execution, cancelling=True)
        assert await store.execution_of_call(names, names) == replace(execution, cancelling=True)
        assert await store.requests(session_id=names, user_id=names) == [request]
        assert await store.heads([names]) == {names: Head(1, NOW)}
        await store.join(owner_row(names))
        assert store.beat(names) is True
        assert (await store.recover(names, 1, "heir")).claims == claims(execution)
        assert await store.executions_by_key([(names, names)]) == [replace(execution, cancelling=True, owner="heir")]
        assert await store.living([names]) in ({}, {names: True})
