"""The statements of both databases are in files, each with a name and a sentence (E7)."""

import re
from pathlib import Path

import pytest

from callboard.adapters import stores
from callboard.adapters.stores.postgres.statements import ENCODERS
from callboard.adapters.stores.statements import read_statements

FILES = {name: Path(stores.__path__[0]) / name / "statements.sql" for name in ("sqlite", "postgres")}
OWN = {
    "sqlite": {"notify", "forget_notifications", "last_notification", "read_notifications"},
    "postgres": {"end_stalled", "note_group", "notify_group", "notify", "count_memory"},
}


@pytest.mark.parametrize("database", FILES)
def test_e7_every_statement_has_a_name_and_a_sentence(database: str) -> None:
    text = FILES[database].read_text()
    statements = read_statements(FILES[database])
    assert len(statements) == text.count(";\n")
    for name in statements:
        assert re.search(rf"^-- {name}: [A-Z].+\.$", text, re.MULTILINE), name


def test_e7_both_databases_have_the_same_statements() -> None:
    sqlite, postgres = (read_statements(FILES[name]).keys() - OWN[name] for name in FILES)
    assert sqlite == postgres


def test_e7_a_statement_that_takes_rows_has_a_parameter_of_its_own_name() -> None:
    for name, text in read_statements(FILES["postgres"]).items():
        if "AS listed(r)" in text:
            assert set(re.findall(r"%\((\w+)\)s", text)) == {name}


def test_e7_values_that_postgresql_casts_or_decodes_are_encoded() -> None:
    kinds = {"jsonb": "_json", "json": "_exact_json", "tsvector": "_tsvector", "": "_binary"}
    found: dict[str, dict[int, str]] = {}
    for name, text in read_statements(FILES["postgres"]).items():
        for place, kind, binary in re.findall(r"\(r->>(\d+)\)::(jsonb?|tsvector)\b|decode\(r->>(\d+),", text):
            found.setdefault(name, {})[int(place or binary)] = kinds[kind]
    assert found == {name: {place: encode.__name__ for place, encode in of.items()} for name, of in ENCODERS.items()}
