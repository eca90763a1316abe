"""The graph of a plan: what is refused, what can start, and what a failure stops."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard import ToolError
from callboard.toolkits.plans.graph import (
    Group,
    GroupState,
    blocked_groups,
    check_graph,
    find_cycle,
    is_over,
    ready_groups,
)


def group(name: str, *dependencies: str) -> Group[str]:
    return Group[str](name=name, description=name, operations=["x"], dependencies=list(dependencies))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "groups: the plan is empty"),
        ([group("a"), group("a")], r"groups\[1\].name: there are two groups 'a'"),
        (
            [group("a"), group("b", "a", "c")],
            r"groups\[1\].dependencies\[1\]: there is no group 'c'",
        ),
        ([group("a", "a")], "wait for each other: a → a"),
        ([group("x"), group("a", "b"), group("b", "x", "c"), group("c", "a")], "a → b → c → a"),
        ([group(f"g{number}") for number in range(201)], "there are 201; at most 200"),
    ],
)
def test_k3_a_plan_that_cannot_be_carried_out_is_refused_with_its_place(groups: list[Group[str]], message: str) -> None:
    with pytest.raises(ToolError, match=message) as caught:
        check_graph(groups)
    assert caught.value.category == "validation"


def test_k3_a_failure_stops_what_depends_on_it_and_nothing_else() -> None:
    groups = [group("a"), group("b", "a"), group("c", "b"), group("d")]
    states = {"a": GroupState.FAILED, "b": GroupState.TODO, "c": GroupState.TODO, "d": GroupState.TODO}
    assert ready_groups(groups, states) == ["d"]
    assert blocked_groups(groups, states) == [("b", "a"), ("c", "a")]
    assert not is_over(groups, states)
    assert is_over(groups, {**states, "d": GroupState.DONE})


@st.composite
def plans(draw: st.DrawFn) -> list[Group[str]]:
    """Plans without cycles, in any order."""
    size = draw(st.integers(1, 12))
    made = [
        group(f"g{number}", *(f"g{each}" for each in draw(st.sets(st.integers(0, number - 1), max_size=3))))
        if number
        else group("g0")
        for number in range(size)
    ]
    return draw(st.permutations(made))


@given(plans(), st.data())
def test_k3_every_plan_ends_and_no_group_runs_before_its_dependencies(
    groups: list[Group[str]], data: st.DataObject
) -> None:
    check_graph(groups)
    states = {each.name: GroupState.TODO for each in groups}
    needed = {each.name: each.dependencies for each in groups}
    while not is_over(groups, states):
        ready = ready_groups(groups, states)
        for name in ready:
            assert all(states[each] is GroupState.DONE for each in needed[name])
        chosen = data.draw(st.sampled_from([*ready, *(n for n, s in states.items() if s is GroupState.IN_PROGRESS)]))
        if states[chosen] is GroupState.TODO:
            states[chosen] = GroupState.IN_PROGRESS
        else:
            states[chosen] = data.draw(st.sampled_from([GroupState.DONE, GroupState.FAILED]))
    left = {name for name, state in states.items() if state is GroupState.TODO}
    assert left == {each.name for each in blocked_groups(groups, states)}
    if GroupState.FAILED not in states.values():
        assert left == set()


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3), min_size=1))
def test_k3_a_cycle_is_found_if_there_is_one(dependencies: dict[str, list[str]]) -> None:
    known = {name: [each for each in needed if each in dependencies] for name, needed in dependencies.items()}
    left = dict(known)
    while free := [name for name, needed in left.items() if not set(needed) & left.keys()]:
        for name in free:
            del left[name]
    cycle = find_cycle(known)
    assert bool(cycle) == bool(left)
    assert all(after in known[before] for before, after in pairwise(cycle))


def test_k3_a_long_chain_costs_little() -> None:
    chain = {str(number): [str(number + 1)] if number < 20_000 else [] for number in range(20_001)}
    assert find_cycle(chain) == []
