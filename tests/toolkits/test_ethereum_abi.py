"""Signatures, ABI values and amounts, and hostile ABIs and data. No chain."""

import json
import subprocess
import sys
import time
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_abi.grammar import visitor
from hypothesis import assume, given
from hypothesis import strategies as st

from callboard import SettingsError, ToolError
from callboard.toolkits.ethereum import codec
from callboard.toolkits.ethereum.abi import Abi, AbiInvalid
from callboard.toolkits.ethereum.abi_values import decode_values, encode_arguments, encode_call
from callboard.toolkits.ethereum.chain import Chain, read_chains
from callboard.toolkits.ethereum.codec import CODEC
from callboard.toolkits.ethereum.revert import decode_revert
from callboard.toolkits.ethereum.signature import parse_signature, read_signature
from callboard.toolkits.ethereum.standards import all_standards
from callboard.toolkits.ethereum.values import Amount, amount, checksum, in_units
from tests.examples import examples

ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("transfer(address,uint256)", "transfer(address,uint256)"),
        ("function transfer(address to, uint amount) external returns (bool)", "transfer(address,uint256)"),
        ("  f ( ) ", "f()"),
        ("f((uint a, tuple(bool,bytes32[2]) b)[] x, string calldata y)", "f((uint256,(bool,bytes32[2]))[],string)"),
        ("f(address payable x, int[][3] memory y)", "f(address,int256[][3])"),
        ("function(uint8)", "function(uint8)"),
    ],
)
def test_k2_signatures_are_read_as_people_write_them(text: str, canonical: str) -> None:
    assert parse_signature(text).signature == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "transfer",
        "transfer(",
        "transfer(address",
        "transfer(address,)",
        "transfer(adress)",
        "f(uint7)",
        "f(uint264)",
        "f(bytes33)",
        "f(bytes0)",
        "f(uint256[0])",
        "f(uint256[5000])",
        "f(uint256[99999999999999])",
        "f(())",
        "f(tuple)",
        "f(uint256 a b)",
        "f(uint256) returns",
        "f(uint256) nonsense",
        "event f(uint256)",
        "f(" + "(" * 20 + "uint256" + ")" * 20 + ")",
        "f(" + ",".join(["bool"] * 65) + ")",
        "f(uint256" + "[]" * 9 + ")",
        "f(" + "a" * 3_000 + ")",
    ],
)
def test_k2_wrong_signatures_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        read_signature(text)
    assert caught.value.category == "validation"
    assert "transfer(address to, uint256 amount)" in caught.value.message


@pytest.mark.parametrize(
    ("kind", "text", "place"),
    [
        ("uint8", "256", "arguments[0] is out of the range of uint8"),
        ("uint256", "-1", "out of the range"),
        ("uint256", "1.5", "whole number"),
        ("uint256", "1e999999999", "whole number"),
        ("uint256[]", "[1e30]", "whole number"),
        ("uint256[]", "[1e400]", "whole number"),
        ("uint256[]", "[" * 100_000, "must be JSON"),
        ("int8", "-129", "out of the range"),
        ("bool", "yes", "true or false"),
        ("address", ADDRESS[:-1] + "7", "checksum"),
        ("bytes4", "0x12", "has 1 bytes"),
        ("bytes", "12", "0x"),
        ("uint256[2]", "[1]", "has 1 elements"),
        ("uint256[]", "[1, -1]", "arguments[0][1] is out of the range"),
        ("uint256[]", "nothing", "must be JSON"),
        ("(uint256 a,bool b)", '{"a": 1}', "must have the fields a, b"),
        ("(uint256 a,bool b)[]", '[[1, "no"]]', "arguments[0][0].b must be true or false"),
    ],
)
def test_k2_arguments_that_do_not_fit_are_named(kind: str, text: str, place: str) -> None:
    with pytest.raises(ToolError) as caught:
        encode_call(parse_signature(f"f({kind})"), [text])
    assert caught.value.category == "validation"
    assert place in caught.value.message


def test_k2_number_of_arguments_is_checked() -> None:
    with pytest.raises(ToolError, match="takes 1 arguments, not 2"):
        encode_call(parse_signature("f(bool)"), ["true", "true"])


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "uint256": st.integers(0, 2**256 - 1),
    "int128": st.integers(-(2**127), 2**127 - 1),
    "bool": st.booleans(),
    "bytes32": st.binary(min_size=32, max_size=32),
    "bytes": st.binary(max_size=80),
    "string": st.text(max_size=40).filter(lambda text: text.isprintable()),
    "address": st.binary(min_size=20, max_size=20).map(lambda data: checksum(f"0x{data.hex()}")),
}


@st.composite
def typed(draw: st.DrawFn, depth: int = 2) -> tuple[str, Any]:
    """A type of the ABI, and a value of it as JSON has it."""
    shape = draw(st.sampled_from(("plain", "list", "tuple") if depth else ("plain",)))
    if shape == "plain":
        kind = draw(st.sampled_from(sorted(VALUES)))
        value = draw(VALUES[kind])
        if isinstance(value, bytes):
            return kind, f"0x{value.hex()}"
        return kind, value if isinstance(value, bool | str) else str(value)
    if shape == "list":
        kind, value = draw(typed(depth=depth - 1))
        return f"{kind}[]", [value] * draw(st.integers(0, 3))
    parts = draw(st.lists(typed(depth=depth - 1), min_size=1, max_size=3))
    return f"({','.join(kind for kind, _ in parts)})", [value for _, value in parts]


@examples(60, 2_000)
@given(st.lists(typed(), max_size=4))
def test_k2_every_value_comes_back_as_it_was_encoded(given_values: list[tuple[str, Any]]) -> None:
    entry = parse_signature(f"f({','.join(kind for kind, _ in given_values)})")
    texts = [value if isinstance(value, str) else json.dumps(value) for _, value in given_values]
    found = decode_values(entry.inputs, encode_arguments(entry, texts))
    assert [each.value for each in found] == [value for _, value in given_values]


@examples(100, 5_000)
@given(
    st.binary(max_size=400), st.sampled_from(["f(uint256[][],string)", "f((bytes,uint8[3])[])", "f(string,bytes[])"])
)
def test_k2_any_data_is_decoded_or_refused(data: bytes, signature: str) -> None:
    with suppress(AbiInvalid):
        json.dumps([each.model_dump() for each in decode_values(parse_signature(signature).inputs, data)])
    decode_revert(data)
    decode_revert(bytes.fromhex("08c379a0") + data)


def test_k2_data_that_multiplies_is_refused_in_bounded_time() -> None:
    """Pointers that lead to the same array again: 40 KB that would be 10^9 values."""
    words = 300
    level = words.to_bytes(32) + b"".join((words * 32).to_bytes(32) for _ in range(words))
    bomb = (32).to_bytes(32) + level * 4 + words.to_bytes(32) + bytes(32 * words)
    start = time.process_time()
    with pytest.raises(AbiInvalid):
        decode_values(parse_signature("f(uint256[][][][])").inputs, bomb)
    assert time.process_time() - start < 5.0


def test_k2_array_of_a_length_without_end_is_refused() -> None:
    data = (32).to_bytes(32) + (2**256 - 1).to_bytes(32)
    for kind in ("uint256[]", "bytes", "string", "bytes[]", "(uint256,bool)[]"):
        with pytest.raises(AbiInvalid):
            decode_values(parse_signature(f"f({kind})").inputs, data)


def test_k2_types_of_many_callers_do_not_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_TYPES", 20)
    for number in range(1, 100):
        CODEC.encode(parse_signature(f"f(uint8[{number}])").inputs, [[1] * number])
        assert visitor.parse.cache_info().currsize < 200  # pyright: ignore[reportAttributeAccessIssue]
    assert len(CODEC._types) <= 20


@pytest.mark.parametrize(
    "document",
    ["{", "{}", "[" * 100_000, json.dumps([{"type": "function"}] * 2_001), "[" + " " * 2_000_000 + "]", 7, None],
)
def test_k2_abi_that_is_none_is_refused(document: Any) -> None:
    with pytest.raises(AbiInvalid):
        Abi.parse(document)


def test_k2_abi_is_read_as_it_was_written() -> None:
    texts = ("pay((address to, (uint8[2], bytes)[] lines) order, string) payable returns (bool ok)", "owner() view")
    events = (read_signature("event Paid(address indexed by, uint256)", "event"),)
    made = Abi((*map(read_signature, texts), *events, *all_standards().entries))
    assert Abi.parse(made.to_json()).entries == Abi.parse(json.dumps(made.to_json())).entries == made.entries


def test_k2_entries_that_cannot_be_used_are_left_out() -> None:
    nested: dict[str, Any] = {"type": "tuple", "components": []}
    for _ in range(30):
        nested = {"type": "tuple", "components": [nested]}
    bad: list[Any] = [
        None,
        "function f()",
        {"type": "receive"},
        {"type": "function", "name": "a b"},
        {"type": "function", "name": "f" * 200},
        {"type": "function", "name": "f", "inputs": 7},
        {"type": "function", "name": "f", "inputs": [{"type": "uint999"}]},
        {"type": "function", "name": "f", "inputs": [nested]},
        {"type": "function", "name": "f", "inputs": [{"type": "uint256", "name": "<script>"}]},
    ]
    (kept,) = Abi.parse(bad).entries
    assert str(kept) == "function f(uint256)", "without the name"


@examples(200, 5_000)
@given(st.integers(0, 2**256 - 1), st.integers(0, 36))
def test_k2_amounts_in_units_are_exact(value: int, decimals: int) -> None:
    text = in_units(value, decimals)
    assert int(Decimal(text).scaleb(decimals).to_integral_exact()) == value or len(text) > 28
    whole, _, fraction = text.partition(".")
    assert int(whole) * 10**decimals + int((fraction + "0" * decimals)[:decimals] or "0") == value


def test_k2_amount_has_its_unit() -> None:
    assert amount(15 * 10**17, "ETH") == Amount(value="1500000000000000000", unit="wei", decimal="1.5", symbol="ETH")
    assert amount(0, "ETH").decimal == "0"
    assert amount(1, "ETH").decimal == "0.000000000000000001"


@examples(50, 500)
@given(st.binary(min_size=20, max_size=20), st.integers(0, 39))
def test_k2_one_wrong_letter_is_noticed_by_the_checksum(data: bytes, place: int) -> None:
    good = checksum(f"0x{data.hex()}")
    letter = good[2 + place]
    assume(letter.isalpha())
    bad = good[: 2 + place] + letter.swapcase() + good[3 + place :]
    assume(bad[2:] not in (bad[2:].lower(), bad[2:].upper()))
    with pytest.raises(ValueError, match="checksum"):
        checksum(bad)


def test_k2_revert_reasons_are_one_bounded_line() -> None:
    data = bytes.fromhex("08c379a0") + encode(["string"], ["ignore\nall\x1b[31m " * 1_000])
    reason = decode_revert(data).reason
    assert len(reason) <= 501
    assert reason.isprintable()


def test_k2_key_does_not_raise_the_limit_of_recursion() -> None:
    """A package that signs raises it so far that deep JSON would crash the process."""
    code = (
        "import json, sys; limit = sys.getrecursionlimit()\n"
        "from callboard.toolkits.ethereum import DevelopmentSigner\n"
        f"DevelopmentSigner('0x{'1' * 64}')\n"
        "assert sys.getrecursionlimit() == limit"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_k2_chains_of_the_setting() -> None:
    text = '{"1": ["https://a.example/k3y"], "31337": {"rpc_urls": ["http://127.0.0.1:1"], "development": true}}'
    first, second = read_chains(text)
    assert (first.id, first.name, first.development) == (1, "Ethereum", False)
    assert (second.development, "k3y" in repr(first)) == (True, False)
    for bad in (
        "",
        "[]",
        "{",
        '{"x": []}',
        '{"1": []}',
        '{"1": {"url": "k3y"}}',
        '{"1": ["ftp://k3y"]}',
        '{"1": "k3y"}',
    ):
        with pytest.raises(SettingsError) as caught:
            read_chains(bad)
        assert "k3y" not in str(caught.value)
    for fields in ({"id": 0}, {"id": 2**53}, {"rpc_urls": ()}, {"decimals": 99}, {"poll_seconds": 0}):
        with pytest.raises(SettingsError):
            Chain(**{"id": 5, "rpc_urls": ("http://x",), **fields})  # pyright: ignore[reportArgumentType]


def test_k2_import_without_the_extra_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['eth_abi'] = None\n"
        "try: import callboard.toolkits.ethereum\n"
        "except ModuleNotFoundError as error: sys.exit(str(error))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == 'The ethereum toolkit needs: pip install "callboard[ethereum]"'
