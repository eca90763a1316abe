"""Memory limits for large values: by session, by user and in total (H5)."""

from hypothesis import given
from hypothesis import strategies as st

from callboard.budget import Budget, MemoryAccount, MemoryLimits
from tests.examples import examples


class Shelf:
    """Keeps sizes, and lets the oldest go."""

    def __init__(self, budget: Budget, user_id: str) -> None:
        self.sizes: list[int] = []
        self.account = MemoryAccount(budget, user_id, self.evict)

    def add(self, size: int) -> None:
        self.account.add(size)
        self.sizes.append(size)

    def evict(self, size: int) -> None:
        freed = 0
        while self.sizes and freed < size:
            freed += self.sizes.pop(0)
        self.account.remove(freed)


def test_h5_an_account_keeps_its_newest_values() -> None:
    shelf = Shelf(Budget(MemoryLimits(session=200)), "ann")
    for size in (40, 50, 60):
        shelf.add(size)
    assert shelf.sizes == [60]
    shelf.add(30)
    assert shelf.sizes == [60, 30]
    shelf.add(500)
    assert shelf.sizes == [500], "one is kept, however large"


def test_h5_the_account_of_a_user_that_grew_longest_ago_goes_first() -> None:
    budget = Budget(MemoryLimits(session=1_000, user=175))
    first, second, third = (Shelf(budget, "ann") for _ in range(3))
    first.add(50)
    second.add(50)
    first.add(50)
    third.add(50)
    assert (first.sizes, second.sizes, third.sizes) == ([50, 50], [], [50]), "the first one has grown since"


def test_h5_values_of_the_user_that_keeps_most_are_evicted_first() -> None:
    budget = Budget(MemoryLimits(session=10_000, user=10_000, total=1_000))
    modest, greedy = Shelf(budget, "modest"), [Shelf(budget, "greedy") for _ in range(3)]
    modest.add(100)
    for _ in range(10):
        for shelf in greedy:
            shelf.add(100)
    modest.add(100)
    assert modest.sizes == [100, 100]
    assert budget.kept <= 1_000


def test_h5_a_closed_account_counts_nothing() -> None:
    budget = Budget()
    shelf = Shelf(budget, "ann")
    shelf.add(100)
    shelf.account.close()
    assert budget.kept == 0
    shelf.add(100)
    shelf.evict(50)
    assert (budget.kept, budget._users) == (0, {})


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 300), st.booleans()), max_size=80))
@examples(200, 2000)
def test_h5_bounds_hold_and_the_count_is_right(steps: list[tuple[int, int, bool]]) -> None:
    limits = MemoryLimits(session=400, user=600, total=900)
    budget = Budget(limits)
    shelves = [Shelf(budget, f"user{number // 2}") for number in range(6)]
    for number, size, freed in steps:
        if freed:
            shelves[number].evict(size)
        else:
            shelves[number].add(size)
        sums = [sum(shelf.sizes) for shelf in shelves]
        assert [shelf.account.kept for shelf in shelves] == sums
        assert budget.kept == sum(sums)
        assert set(budget._users) == {shelf.account.user_id for shelf in shelves if shelf.account.kept}
        for shelf in shelves:
            assert sum(shelf.sizes) <= limits.session // 2 or len(shelf.sizes) == 1
        assert budget.kept <= max(limits.total, size)
