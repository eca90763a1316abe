"""Settings, from code and from the environment."""

import dataclasses
from typing import Any

import pytest

from callboard import Settings
from callboard.errors import SettingsError


def test_the_defaults() -> None:
    settings = Settings.from_environment({})
    assert settings == Settings()
    assert (settings.max_argument_bytes, settings.max_threads, settings.gates) == (4_194_304, 32, {})
    calls = (settings.max_calls, settings.max_user_calls, settings.max_session_calls, settings.max_queued_calls)
    assert calls == (4_096, 1_024, 256, 10_000)


def test_settings_are_read_from_the_environment() -> None:
    settings = Settings.from_environment(
        {
            "CALLBOARD_MAX_ARGUMENT_BYTES": "100",
            "CALLBOARD_MAX_THREADS": " 4 ",
            "CALLBOARD_GATE_BETA": "Yes",
            "CALLBOARD_GATE_OLD_THING": "off",
            "CALLBOARD_SOMETHING_ELSE": "x",
            "PATH": "/bin",
        }
    )
    assert (settings.max_argument_bytes, settings.max_threads) == (100, 4)
    assert settings.gates == {"beta": True, "old_thing": False}


@pytest.mark.parametrize("value", ["1", "true", "TRUE", "yes", "on", " on "])
def test_words_for_an_open_gate(value: str) -> None:
    assert Settings.from_environment({"CALLBOARD_GATE_A": value}).gates == {"a": True}


@pytest.mark.parametrize("value", ["0", "false", "No", "off", "", " "])
def test_words_for_a_closed_gate(value: str) -> None:
    assert Settings.from_environment({"CALLBOARD_GATE_A": value}).gates == {"a": False}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("CALLBOARD_MAX_THREADS", "many", "CALLBOARD_MAX_THREADS is 'many'; it must be a whole number."),
        ("CALLBOARD_MAX_THREADS", "1.5", "must be a whole number"),
        ("CALLBOARD_MAX_THREADS", "", "must be a whole number"),
        ("CALLBOARD_MAX_THREADS", "0", "The setting max_threads is 0; it must be above 0."),
        ("CALLBOARD_MAX_ARGUMENT_BYTES", "-1", "max_argument_bytes is -1"),
        ("CALLBOARD_GATE_A", "maybe", "CALLBOARD_GATE_A is 'maybe'"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(name: str, value: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment({name: value})
    assert message in str(caught.value)


def test_settings_from_code_are_checked_and_frozen() -> None:
    with pytest.raises(SettingsError):
        Settings(max_threads=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().max_threads = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_threads": "3"}, "The setting max_threads is '3'; it must be a whole number."),
        ({"max_threads": None}, "The setting max_threads is None; it must be a whole number."),
        ({"gates": {"beta": "yes"}}, "it must be a dict of True or False by name."),
        ({"search_url": 3}, "The setting search_url is of type int; it must be a string."),
    ],
)
def test_a_value_of_a_wrong_type_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings(**values)
    assert message in str(caught.value)


def test_a_secret_of_a_wrong_type_is_not_shown() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings(search_key=b"hunter2")  # pyright: ignore[reportArgumentType]
    assert "hunter2" not in str(caught.value)
