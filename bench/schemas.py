"""Cost of 1,000 tools: registering them, compared with building their Pydantic models alone, and listing them.

The baseline builds the validators of each tool's arguments and result with Pydantic alone. Schemas are generated on
first use, so the first listing is measured too, beside Pydantic's own time for the same schemas. As a script, this is
the worker.
"""

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Annotated, Any, get_type_hints

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from bench import environments
from bench.benchmark import Bound, Data, Options, Table, quartiles
from bench.harness import bracket, timed
from bench.workloads import Order, Receipt

TITLE = "Registering and listing 1,000 tools"
COUNT = 1000
Functions = Sequence[Callable[..., Any]]
make_typed_dict: Any = TypedDict  # type checkers refuse names that are made at run time

SHAPES = {
    "two integers": """
async def tool_{i}(a: Annotated[int, "The first summand"], b: Annotated[int, "The second summand"]) -> int:
    'Add, in the way of number {i}.'
    return a + b
""",
    "two integers, described in the docstring": """
async def tool_{i}(a: int, b: int) -> int:
    '''Add, in the way of number {i}.

    Args:
        a: The first summand.
        b: The second summand.
    '''
    return a + b
""",
    "nested": """
async def tool_{i}(order: Annotated[Order, "The order to place"]) -> Receipt:
    'Place an order at shop number {i}.'
    return Receipt(number=order.number, city=order.delivery.city, deposit=0)
""",
}


def measure(options: Options) -> dict[str, Any]:
    """Measure all shapes in one new process."""
    samples = "1" if options.quick else str(options.rounds)
    return environments.worker(environments.prepare_ours(options.python), "bench.schemas", samples)


def report(data: Data) -> Table:
    """Make one row per shape of tool."""
    columns = [
        "1,000 tools",
        "Pydantic alone, s",
        "registered, s",
        "ratio (quartiles)",
        "Pydantic's schemas, s",
        "first listing, s",
        "next listing, ms",
    ]
    rows = [
        [
            shape,
            f"{median(row['baseline']):.2f}",
            f"{median(row['registered']):.2f}",
            quartiles(row["ratio"]),
            f"{median(row['schemas']):.2f}",
            f"{median(row['first']):.2f}",
            f"{median(row['listing']) * 1e3:.3f}",
        ]
        for shape, row in data.items()
    ]
    return Table(columns, rows)


def _ratio(shape: str, data: Data) -> float:
    return median(data[shape]["ratio"])


def _listing(data: Data) -> float:
    return max(median(row["listing"]) for row in data.values()) * 1e3


BOUNDS = [
    *(
        Bound(f"registering 1,000 tools ({shape}) ÷ Pydantic alone", 1.5, "x", partial(_ratio, shape))
        for shape in SHAPES
    ),
    Bound("listing 1,000 tools from the cache, slowest shape", 1.0, "ms", _listing),
]


def _functions(shape: str, count: int) -> Functions:
    """Make new functions at each call, so that no cache by function helps."""
    names: dict[str, Any] = {"Annotated": Annotated, "Order": Order, "Receipt": Receipt, "__name__": __name__}
    exec("".join(SHAPES[shape].format(i=i) for i in range(count)), names)
    return [names[f"tool_{i}"] for i in range(count)]


def _build(functions: Functions) -> list[tuple[TypeAdapter[Any], TypeAdapter[Any]]]:
    built: list[tuple[TypeAdapter[Any], TypeAdapter[Any]]] = []
    for function in functions:
        hints = get_type_hints(function, include_extras=True)
        result: TypeAdapter[Any] = TypeAdapter(hints.pop("return"))
        arguments: TypeAdapter[Any] = TypeAdapter(make_typed_dict(function.__name__, hints))
        built.append((result, arguments))
    return built


def _sample(shape: str, count: int) -> dict[str, float]:
    from callboard import Registry, tool  # only the worker's interpreter is known to have it

    ours, *floors = [_functions(shape, count) for _ in range(3)]
    registries: list[Registry] = []

    def register() -> None:
        registries.append(Registry([tool(flatten=False)(function) for function in ours]))

    def listing() -> Sequence[object]:
        return registries[0].snapshot().schemas("claude")

    built: list[tuple[TypeAdapter[Any], TypeAdapter[Any]]] = []
    sample = bracket(lambda: timed(register), lambda: timed(lambda: built.extend(_build(floors.pop()))))
    first = timed(listing)
    schemas = timed(lambda: [arguments.json_schema() for _, arguments in built[:count]])
    if len(listing()) != count:
        raise ValueError(f"{len(listing())} schemas of {count} tools")
    return {
        "baseline": sample.floor,
        "registered": sample.case,
        "ratio": sample.ratio,
        "schemas": schemas,
        "first": first,
        "listing": median(timed(listing) for _ in range(100)),
    }


def _work(samples: int) -> dict[str, dict[str, list[float]]]:
    measured: dict[str, dict[str, list[float]]] = {}
    for shape in SHAPES:
        _sample(shape, 3)
        found = [_sample(shape, COUNT) for _ in range(samples)]
        measured[shape] = {figure: [each[figure] for each in found] for figure in found[0]}
    return measured


if __name__ == "__main__":
    print(json.dumps(_work(int(sys.argv[1]))))
