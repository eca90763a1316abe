"""PostgreSQL's plans for statements that find rows by their keys.

The server makes a plan once, often while the tables are small, and keeps it while they grow.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import psycopg as dialect

from callboard.adapters.stores.connections import PinnedConnection
from callboard.adapters.stores.postgres.database import PostgresDatabase
from callboard.adapters.stores.postgres.statements import TEXTS
from callboard.adapters.stores.queue_queries import select_claimed, select_oldest
from callboard.adapters.stores.statements import driver
from callboard.adapters.stores.tables import REVISION
from callboard.runtime import migrate_store

BY_KEY = [name for name in TEXTS if name.startswith(("lock_", "read_"))]
EVERY_GROUP = ["write_executions", "insert_events", "update_counters", "update_unconsumed", "append_unconsumed"]
"""The statements that write what nearly every group has."""
ROWS = 20_000


@pytest.fixture
def database(postgres_url: str) -> PostgresDatabase:
    migrate_store(postgres_url)
    return PostgresDatabase(postgres_url)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a node of a plan, and those below it."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def explained(connection: Any, statement: str, options: str = "") -> list[dict[str, Any]]:
    [[[explanation]]] = connection.execute(f"EXPLAIN (FORMAT JSON{options}) {statement}").fetchall()
    return list(nodes(explanation["Plan"]))


def read_whole(plan: list[dict[str, Any]]) -> list[str]:
    """Return the tables that a plan reads from one end to the other."""
    scans = [node for node in plan if "Relation Name" in node and node["Relation Name"] != "callboard_version"]
    return [
        node["Relation Name"]
        for node in scans
        if node["Node Type"] == "Seq Scan" or not ("Index Cond" in node or "Recheck Cond" in node)
    ]


@pytest.mark.parametrize("name", [*BY_KEY, *EVERY_GROUP])
def test_plan_of_an_empty_table_looks_rows_up_by_their_keys(
    name: str, postgres_url: str, database: PostgresDatabase
) -> None:
    statement = re.sub(r"%\(\w+\)s", "$1", TEXTS[name])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        plan = explained(connection, statement, ", GENERIC_PLAN")
    assert [node for node in plan if "Function Name" in node], "the keys are in a document"
    assert read_whole([node for node in plan if node["Node Type"] != "ModifyTable"]) == []


def test_claim_reads_no_other_calls_of_a_long_queue(database: PostgresDatabase) -> None:
    """Its plan was made while the queue was empty."""
    keys = [[f"s{n}", f"x{n}"] for n in range(10)]
    order = ["keys", "claimer", "revision"]
    statement = re.sub(r"%\((\w+)\)s", lambda match: f"${order.index(match[1]) + 1}", TEXTS["claim_new"])
    given = {"keys": json.dumps(keys), "claimer": "w", "revision": REVISION}
    values = ", ".join(_literal(given[name]) for name in order)

    def claim(connection: Connection) -> list[dict[str, Any]]:
        session = driver(connection)
        session.execute("SET plan_cache_mode = force_generic_plan")
        session.execute(f"PREPARE claim AS {statement}")
        session.execute(f"EXPLAIN EXECUTE claim({values})")  # makes the plan
        fill_queue(session)
        return explained(session, f"EXECUTE claim({values})", ", ANALYZE")

    connection = database.claim_connection(PinnedConnection(database, writes=True))
    try:
        plan = connection.run(claim)
    finally:
        connection.close()
    assert plan[0]["Actual Rows"] == len(keys)
    read = [node for node in plan if node.get("Relation Name") == "executions" and node["Node Type"] != "ModifyTable"]
    assert sum(node["Actual Rows"] * node["Actual Loops"] for node in read) <= 2 * len(keys)
    assert sum(node.get("Rows Removed by Filter", 0) * node["Actual Loops"] for node in read) == 0


def test_turn_of_a_user_reads_no_calls_of_others(database: PostgresDatabase) -> None:
    users = {"v": 3, "w": 1, "none": 2}

    def explain(connection: Connection) -> list[dict[str, Any]]:
        session = driver(connection)
        fill_queue(session)
        session.execute("UPDATE executions SET user_id = 'v' WHERE id IN ('x9', 'x999', 'x19990', 'x19999')")
        session.execute("UPDATE executions SET user_id = 'w' WHERE id = 'x15000'")
        session.execute("ANALYZE executions")
        compiled = select_oldest("q", users).compile(dialect=dialect.dialect(), compile_kwargs={"literal_binds": True})
        return explained(session, str(compiled), ", ANALYZE")

    connection = PinnedConnection(database, writes=True)
    try:
        plan = connection.run(explain)
    finally:
        connection.close()
    assert plan[0]["Actual Rows"] == 4
    read = [node for node in plan if node.get("Relation Name") == "executions"]
    assert sum(node["Actual Rows"] * node["Actual Loops"] for node in read) <= 5
    assert sum(node.get("Rows Removed by Filter", 0) for node in read) == 0


def test_claims_of_a_worker_are_found_without_reading_a_long_queue(database: PostgresDatabase) -> None:
    """The plan was made while the table was empty."""

    def find(connection: Connection) -> list[dict[str, Any]]:
        session = driver(connection)
        compiled = str(select_claimed("w").compile(dialect=dialect.dialect()))
        session.execute("SET plan_cache_mode = force_generic_plan")
        session.execute("PREPARE claimed AS " + re.sub(r"%\(\w+\)s", "$1", compiled))
        session.execute("EXPLAIN EXECUTE claimed('w')")  # makes the plan
        fill_queue(session)
        session.execute("UPDATE executions SET owner = 'w' WHERE id IN ('x9', 'x999', 'x19990')")
        return explained(session, "EXECUTE claimed('w')", ", ANALYZE")

    connection = PinnedConnection(database, writes=True)
    try:
        plan = connection.run(find)
    finally:
        connection.close()
    assert plan[0]["Actual Rows"] == 3
    read = [node for node in plan if node.get("Relation Name") == "executions"]
    assert sum(node["Actual Rows"] * node["Actual Loops"] for node in read) <= 3
    assert sum(node.get("Rows Removed by Filter", 0) for node in read) == 0


def fill_queue(session: Any) -> None:
    """Let many calls of one user wait in a queue."""
    session.execute(
        "INSERT INTO sessions (id, open, last_seq, first_seq, last_entry, last_execution)"
        " SELECT 's' || n, true, 0, 1, 0, 1 FROM generate_series(0, %s) AS n",
        (ROWS - 1,),
    )
    session.execute(
        "INSERT INTO executions (session_id, place, id, user_id, call_id, tool, kind, fingerprint, shown, status,"
        " priority, attempt, max_attempts, errors, late, queued_at, cancelling, queue)"
        " SELECT 's' || n, 1, 'x' || n, 'u', 'c', 't', 'tool', '', '{}', 'pending', 1, 0, 1, '[]', false, n,"
        " false, 'q' FROM generate_series(0, %s) AS n",
        (ROWS - 1,),
    )


def _literal(value: Any) -> str:
    return "'" + str(value).replace("'", "''") + "'"
