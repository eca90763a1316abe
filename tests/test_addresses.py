"""Addresses with passwords, also with those that are not in percent form (D2)."""

import pytest

from callboard.addresses import passwords, split_address, without_password
from callboard.errors import SettingsError


@pytest.mark.parametrize(
    ("address", "found", "shown"),
    [
        ("memory://", [], "memory://"),
        ("sqlite:////srv/a:b@c.db", [], "sqlite://c.db"),
        ("postgresql://h:1/db", [], "postgresql://h:1/db"),
        ("postgresql://ann@h/db", [], "postgresql://h/db"),
        ("postgresql://ann:s3%40cret@h:1/db?sslmode=require", ["s3%40cret", "s3@cret"], "postgresql://h:1/db"),
        ("postgresql://ann:s3@cr/e?t@h:1/db", ["s3@cr/e?t"], "postgresql://h:1/db"),
        ("postgresql://ann:s3[cret@h/db", ["s3[cret"], "postgresql://h/db"),
        ("postgresql://h/db?password=s3cret&user=ann", ["s3cret"], "postgresql://h/db"),
        ("ann:s3cret@h:4222", ["s3cret"], "h:4222"),
        ("nats://s3cret%40@h:4222/name?replicas=3", ["s3cret%40", "s3cret@"], "nats://h:4222/name"),
        ("tls://s3cret@h", ["s3cret"], "tls://h"),
        ("s3cret@h:4222", ["s3cret"], "h:4222"),
    ],
)
def test_d2_passwords_are_found_and_left_out(address: str, found: list[str], shown: str) -> None:
    assert passwords(address) == found
    assert without_password(address) == shown


@pytest.mark.parametrize(
    "address", ["http://ann:s3[cret@h", "http://ann:s3/cret@h", "http://h:99999", "http://h:s3cret"]
)
def test_d2_an_address_that_cannot_be_split_is_not_repeated(address: str) -> None:
    with pytest.raises(SettingsError) as caught:
        split_address(address, "The base URL", SettingsError)
    assert str(caught.value).startswith("The base URL cannot be read.")
    assert not any(part in str(caught.value) for part in ("ann:", "s3", "cret"))
