"""The order of a recovery: fair between users, then between sessions (E5, H5)."""

from callboard.sessions.backlog import Backlog
from callboard.storage.owners import Claim


def claim(user_id: str, session_id: str, number: int, kind: str = "tool") -> Claim:
    return Claim(session_id, f"{session_id}-{number}", user_id, kind)


def test_e5_users_take_turns_and_so_do_their_sessions() -> None:
    backlog = Backlog()
    backlog.add(claim("mallory", session, number) for session in ("m1", "m2") for number in range(100))
    backlog.add([claim("alice", "a1", 0)])
    backlog.add([claim("bob", "b1", 0), claim("bob", "b1", 1)])
    assert len(backlog) == 203
    assert [each.id for each in backlog.take(8)] == ["m1-0", "a1-0", "b1-0", "m2-0", "b1-1", "m1-1", "m2-1", "m1-2"]
    assert len(backlog.take(1_000)) == 195
    assert backlog.take(1) == []
    assert not backlog


def test_e5_turns_and_inputs_of_a_session_come_after_its_calls() -> None:
    backlog = Backlog()
    backlog.add([claim("u", "s", 0, "turn"), claim("u", "s", 1, "input"), claim("u", "s", 2), claim("u", "s", 3)])
    assert [each.id for each in backlog.take(9)] == ["s-2", "s-3", "s-0", "s-1"]
