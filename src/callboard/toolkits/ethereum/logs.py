"""Logs of contracts as events with their arguments. No I/O."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from .abi import Abi, AbiEntry, AbiInvalid, AbiParameter
from .abi_values import DecodedValue, decode_values, shortened_hex
from .values import Address

MAX_LOG = 2_000_000
"""Characters of the data of a log that is decoded."""

Topic = Annotated[str, Field(pattern="^0x[0-9a-fA-F]{64}$")]


class Log(BaseModel):
    """A log, as nodes return it."""

    model_config = ConfigDict(extra="forbid")

    address: Address | None = Field(default=None, description="Contract that wrote the log")
    topics: list[Topic] = Field(max_length=4, description="Topics, of which the first is the hash of the event")
    data: Annotated[str, Field(pattern="^0x([0-9a-fA-F]{2})*$", max_length=MAX_LOG)] = Field(
        default="0x", description="Data of the log"
    )
    log_index: int | None = Field(default=None, ge=0, description="Place of the log in its block")


class DecodedLog(BaseModel):
    """An event of a contract."""

    address: str | None
    log_index: int | None
    known: bool = Field(description="Whether the event is known")
    event: str | None = Field(default=None, description="Signature of the event")
    arguments: list[DecodedValue] = []
    topics: list[str] | None = Field(default=None, description="Topics of an unknown event")
    data: str | None = Field(default=None, description="Data of an unknown event")


def decode_log(log: Log, abis: Iterable[Abi]) -> DecodedLog:
    """Decode a log with the first event of the ABIs that fits. Without one, topics and data are returned.

    A log that is too large is not decoded.
    """
    if len(log.data) > MAX_LOG:
        abis = ()
    topics = [bytes.fromhex(topic[2:]) for topic in log.topics]
    data = bytes.fromhex(log.data[2:])
    for abi in abis:
        for entry in abi.events.get(topics[0], ()) if topics else ():
            try:
                arguments = _arguments(entry, topics[1:], data)
            except AbiInvalid:
                continue
            event = str(entry).removeprefix("event ")
            return DecodedLog(
                address=log.address, log_index=log.log_index, known=True, event=event, arguments=arguments
            )
    return DecodedLog(
        address=log.address, log_index=log.log_index, known=False, topics=log.topics, data=shortened_hex(data)
    )


def _arguments(entry: AbiEntry, topics: list[bytes], data: bytes) -> list[DecodedValue]:
    indexed = [each for each in entry.inputs if each.is_indexed]
    if len(indexed) != len(topics):
        raise AbiInvalid("the event has another number of indexed parameters")
    plain = iter(decode_values([each for each in entry.inputs if not each.is_indexed], data))
    hashes = iter(topics)
    return [_indexed(each, next(hashes)) if each.is_indexed else next(plain) for each in entry.inputs]


def _indexed(parameter: AbiParameter, topic: bytes) -> DecodedValue:
    """The value of an indexed parameter. Of one without a fixed size, the chain has only the hash."""
    if parameter.is_dynamic or parameter.is_array or parameter.components:
        return DecodedValue(name=parameter.name, type=f"hash of {parameter.canonical}", value=f"0x{topic.hex()}")
    return decode_values([parameter], topic)[0]
