"""ABI encoding and decoding by `eth-abi`, with bounds for data and types of other parties. No I/O.

Pointers in hostile data can make small data decode to any number of values, so a decoder may read only so often. The
library caches a coder for every type for ever, so the caches are emptied after many types.
"""

from collections.abc import Sequence
from typing import Any, cast

from eth_abi import decoding
from eth_abi.codec import ABICodec
from eth_abi.exceptions import DecodingError, EncodingError, ParseError
from eth_abi.grammar import visitor
from eth_abi.registry import BaseEquals, registry

from .abi import AbiInvalid, AbiParameter

MAX_READS = 20_000
"""Values that one decoding may read."""
MAX_TYPES = 2_000
"""Lists of types after which the caches of the library are emptied."""

_FAILURES = (DecodingError, EncodingError, ParseError, OverflowError, ValueError, TypeError)


class _BoundedStream(decoding.ContextFramesBytesIO):
    """Data that can be read a bounded number of times."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)  # pyright: ignore[reportUnknownMemberType]
        self._size = len(data)
        self._reads_left = MAX_READS
        self._bytes_left = 4 * self._size + 65_536

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(self._size if size is None or size < 0 else min(size, self._size))
        self._reads_left -= 1
        self._bytes_left -= len(data)
        if self._reads_left < 0 or self._bytes_left < 0:
            raise DecodingError("the data has too many values")
        return data


class _Codec(ABICodec):
    stream_class = _BoundedStream


class Codec:
    """Encodes and decodes parameters. Instances may be shared."""

    def __init__(self) -> None:
        self._registry = registry.copy()
        self._registry.unregister_decoder("string")
        # Text of other parties is not always UTF-8.
        replacing = decoding.StringDecoder(handle_string_errors="replace")
        self._registry.register_decoder(BaseEquals("string", with_sub=False), replacing, label="string")
        self._codec = _Codec(self._registry)
        self._types: set[str] = set()

    def encode(self, parameters: Sequence[AbiParameter], values: Sequence[Any]) -> bytes:
        """Encode values. Raises `AbiInvalid` if a value does not fit its type."""
        try:
            return self._codec.encode(self._seen(parameters), values)
        except _FAILURES as error:
            raise AbiInvalid(f"the arguments do not fit the types: {str(error)[:200]}") from None

    def decode(self, parameters: Sequence[AbiParameter], data: bytes, *, is_whole: bool = False) -> tuple[Any, ...]:
        """Decode data. Raises `AbiInvalid` if it is not an encoding of the types.

        Some contracts leave out the zeros at the end of what they return, so they are added, unless the data must be
        whole: the end of a number looks the same.
        """
        padding = b"" if is_whole else bytes(-len(data) % 32)
        try:
            return self._codec.decode(self._seen(parameters), data + padding)
        except _FAILURES:
            raise AbiInvalid("the data does not fit the types") from None

    def _seen(self, parameters: Sequence[AbiParameter]) -> list[str]:
        types = [each.canonical for each in parameters]
        self._types.add(",".join(types))
        if len(self._types) > MAX_TYPES:
            self._types.clear()
            names = ("get_encoder", "get_decoder", "get_tuple_encoder", "get_tuple_decoder")
            for cached in (visitor.parse, *(getattr(self._registry, name) for name in names)):
                cast("Any", cached).cache_clear()
        return types


CODEC = Codec()
