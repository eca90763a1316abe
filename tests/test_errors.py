"""The errors of Callboard: one root, stable codes, and the part that a model reads (X4)."""

import json
from datetime import timedelta
from typing import Any

import pytest

from callboard import CallboardError, ErrorCategory, RegistrationError, SchemaError, ToolError
from callboard.errors import CATEGORIES, MissingExtraError, SettingsError, ToolErrorInvalid

TABLE = {  # category: retryable by default, reported to operators
    "validation": (False, False),
    "execution": (False, True),
    "timeout": (True, True),
    "cancelled": (False, False),
    "transient": (True, True),
    "permanent": (False, True),
    "rate_limited": (True, False),
    "permission": (False, True),
    "not_found": (False, False),
    "resource": (False, True),
    "configuration": (False, True),
    "interrupted": (False, True),
    "unknown": (False, True),
}


def test_x4_every_category_has_its_rule() -> None:
    assert {category.value: rule[:2] for category, rule in CATEGORIES.items()} == TABLE
    assert set(CATEGORIES) == set(ErrorCategory)


def test_x4_every_category_has_a_sentence_of_its_own_for_the_model() -> None:
    messages = [rule.message for rule in CATEGORIES.values()]
    assert len(set(messages)) == len(TABLE)
    assert all(message.endswith(".") and 15 < len(message) < 120 for message in messages)


@pytest.mark.parametrize("category", TABLE)
def test_x4_the_category_decides_about_a_retry_unless_the_error_does(category: str) -> None:
    assert ToolError("x", category=category).may_retry is TABLE[category][0]
    assert ToolError("x", category=category, retryable=True).may_retry is True
    assert ToolError("x", category=category, retryable=False).may_retry is False


def test_x4_an_unknown_category_is_refused() -> None:
    with pytest.raises(ValueError, match="sideways"):
        ToolError("x", category="sideways")


def test_x4_a_model_is_shown_category_message_details_and_waiting_time_only() -> None:
    plain = ToolError("No.", report="token=hunter2")
    assert plain.to_model() == {"category": "execution", "message": "No."}
    full = ToolError("No.", category="rate_limited", retryable=True, retry_after=0.0, details=[], report="hunter2")
    shown = {"category": "rate_limited", "message": "No.", "details": [], "retry_after": 0.0}
    assert full.to_model() == shown
    assert json.loads(json.dumps(full.to_model())) == shown
    assert str(full) == full.message == "No."


def test_all_errors_have_one_root_and_stable_codes() -> None:
    codes = {
        CallboardError("x"): "error",
        RegistrationError("x"): "registration",
        SchemaError("x", path="a.b", dialect="gemini"): "schema",
        SettingsError("x"): "settings",
        MissingExtraError("This", "http"): "missing_extra",
        ToolError("x"): "tool",
    }
    for error, code in codes.items():
        assert isinstance(error, CallboardError)
        assert error.code == code


def test_a_schema_error_names_path_and_dialect() -> None:
    error = SchemaError("x", path="a.b", dialect="gemini")
    assert (error.path, error.dialect) == ("a.b", "gemini")


def test_a_missing_extra_is_named() -> None:
    error = MissingExtraError("Fetching", "http")
    assert str(error) == 'Fetching needs an optional part. Install it with: pip install "callboard[http]"'
    assert error.extra == "http"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"category": "transiant"}, "'transiant' is not a category of errors. Known: validation, execution, "),
        ({"retry_after": timedelta(seconds=3)}, "retry_after is datetime.timedelta(seconds=3); it must be a number"),
        ({"retry_after": "3"}, "retry_after is '3'; it must be a number of seconds."),
        ({"retry_after": float("nan")}, "retry_after is nan; it must be a number of seconds."),
        ({"retryable": "no"}, "retryable is 'no'; it must be True, False or None."),
    ],
)
def test_x4_a_wrong_value_of_an_error_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolErrorInvalid) as caught:
        ToolError("No lamps", **values)
    assert message in str(caught.value)


def test_x4_the_message_of_an_error_is_text() -> None:
    message = ToolError(ValueError("no lamps")).to_model()["message"]  # pyright: ignore[reportArgumentType]
    assert (message.__class__, message) == (str, "no lamps")
