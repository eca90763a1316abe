"""The order in which sessions are woken: fair between users, at a cost that does not grow with them (E5, H5)."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from callboard.sessions.wake_queue import WakeQueue


def test_h5_users_take_turns_with_their_sessions_to_wake() -> None:
    queue = WakeQueue(100)
    queue.add((f"m{number}", "mallory") for number in range(1_000))
    queue.add([("a1", "alice"), ("b1", "bob"), ("b2", "bob")])
    taken = [queue.take() for _ in range(6)]
    assert [each and each[0] for each in taken] == ["m0", "a1", "b1", "m1", "b2", "m2"]
    queue.add([("c1", "carol")])
    assert [each and each[0] for each in (queue.take(), queue.take())] == ["m3", "c1"]
    assert len(queue) == 1_000 - 4


def test_h5_a_user_has_no_more_under_way_than_there_is_room_left() -> None:
    queue = WakeQueue(8)
    queue.add((f"m{number}", "mallory") for number in range(100))
    assert sum(queue.take() is not None for _ in range(100)) == 4
    queue.add([("a1", "alice")])
    assert queue.take() == ("a1", "alice")
    assert queue.take() is None
    queue.done("alice")
    assert queue.take() is None
    queue.done("mallory")
    assert queue.take() == ("m4", "mallory")
    assert queue.take() is None


def test_e5_a_session_that_waits_to_be_woken_is_queued_once() -> None:
    queue = WakeQueue(8)
    queue.add([("s", "u"), ("s", "u")])
    queue.add([("s", "u")])
    assert queue.take() == ("s", "u")
    queue.add([("s", "u")])  # something may have arrived since
    assert queue.take() == ("s", "u")
    assert queue.take() is None
    assert len(queue) == 0


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 4), st.integers(0, 9)),
        st.tuples(st.just("take"), st.just(0), st.just(0)),
        st.tuples(st.just("done"), st.integers(0, 4), st.just(0)),
    ),
    max_size=80,
)


@given(_steps, st.integers(1, 9))
def test_h5_every_session_is_woken_within_the_bounds(steps: list[tuple[str, int, int]], at_once: int) -> None:
    queue, waiting, under_way = WakeQueue(at_once), set[tuple[str, str]](), Counter[str]()

    def take() -> bool:
        left = at_once - under_way.total()
        able = {user for _, user in waiting if under_way[user] < left}
        taken = queue.take()
        assert (taken is None) == (not able)
        if taken is None:
            return False
        assert taken[1] in able
        waiting.remove(taken)
        under_way[taken[1]] += 1
        assert under_way.total() <= at_once
        return True

    for step, user, session in steps:
        if step == "add":
            queue.add([(f"{user}-{session}", f"u{user}")])
            waiting.add((f"{user}-{session}", f"u{user}"))
        elif step == "take":
            take()
        elif under_way[f"u{user}"]:
            queue.done(f"u{user}")
            under_way[f"u{user}"] -= 1
        assert len(queue) == len(waiting)
    for user_id, number in (+under_way).items():
        for _ in range(number):
            queue.done(user_id)
    under_way.clear()
    while waiting:
        before = len(waiting)
        while take():
            pass
        assert len(waiting) < before
        for user_id, number in (+under_way).items():
            for _ in range(number):
                queue.done(user_id)
        under_way.clear()


class Name(str):
    """The name of a user. Counts how often it is looked up."""

    __slots__ = ()
    looked_up = 0

    def __hash__(self) -> int:
        Name.looked_up += 1
        return super().__hash__()

    __eq__ = str.__eq__


def cost(users: int) -> float:
    """Return how often names are looked up per session, while as many as possible are under way."""
    queue, under_way = WakeQueue(32), list[str]()
    queue.add((f"{number}-{session}", Name(f"u{number}")) for number in range(users) for session in range(3))
    Name.looked_up = 0
    while len(queue):
        while (taken := queue.take()) is not None:
            under_way.append(taken[1])
        queue.done(under_way.pop())
    return Name.looked_up / (3 * users)


def test_h5_cost_of_the_next_wake_does_not_grow_with_the_number_of_users() -> None:
    few, many = cost(50), cost(5_000)
    assert many <= 1.5 * few, (few, many)
