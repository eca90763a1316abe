"""Foreign exceptions get a category from a table that users extend, and reveal nothing about the host (X4)."""

import asyncio
import concurrent.futures
import errno
import json
import logging
import socket
import ssl
import subprocess
import urllib.error
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime
from typing import Annotated, Any

import httpx2
import pytest
from pydantic import BaseModel

from callboard import ErrorCategory, ErrorTable, Registry, ToolError, tool
from callboard.categories import category_of_status, retry_after_seconds
from callboard.errors import CATEGORIES

pytestmark = pytest.mark.anyio

table = ErrorTable()


def status_error(status: int, **headers: str) -> httpx2.HTTPStatusError:
    request = httpx2.Request("GET", "https://user:hunter2@internal.example/secret?token=hunter2")
    response = httpx2.Response(status, headers={k.replace("_", "-"): v for k, v in headers.items()}, request=request)
    with pytest.raises(httpx2.HTTPStatusError) as caught:
        response.raise_for_status()
    return caught.value


REQUEST = httpx2.Request("GET", "https://internal.example")


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (TimeoutError(), "timeout"),
        (asyncio.TimeoutError(), "timeout"),  # noqa: UP041
        (socket.timeout(), "timeout"),  # noqa: UP041
        (concurrent.futures.TimeoutError(), "timeout"),
        (OSError(errno.ETIMEDOUT, "x"), "timeout"),
        (asyncio.CancelledError(), "cancelled"),
        (ConnectionResetError(), "transient"),
        (ConnectionRefusedError(), "transient"),
        (BrokenPipeError(), "transient"),
        (OSError(errno.ECONNRESET, "x"), "transient"),
        (socket.gaierror(socket.EAI_NONAME, "x"), "transient"),
        (ssl.SSLError("x"), "transient"),
        (ssl.SSLCertVerificationError("x"), "transient"),
        (PermissionError(), "permission"),
        (OSError(errno.EACCES, "x"), "permission"),
        (FileNotFoundError(), "not_found"),
        (OSError(errno.ENOENT, "x"), "not_found"),
        (IsADirectoryError(), "execution"),
        (OSError("x"), "execution"),
        (MemoryError(), "resource"),
        (RecursionError(), "resource"),
        (NotImplementedError(), "configuration"),
        (ModuleNotFoundError("x"), "configuration"),
        (KeyError("x"), "execution"),
        (ValueError("x"), "execution"),
        (ZeroDivisionError(), "execution"),
        (RuntimeError("x"), "execution"),
        (subprocess.CalledProcessError(1, ["x"]), "execution"),
        (KeyboardInterrupt(), "execution"),
        (httpx2.ConnectTimeout("x", request=REQUEST), "timeout"),
        (httpx2.ReadTimeout("x", request=REQUEST), "timeout"),
        (httpx2.PoolTimeout("x", request=REQUEST), "timeout"),
        (httpx2.ConnectError("x", request=REQUEST), "transient"),
        (httpx2.ReadError("x", request=REQUEST), "transient"),
        (httpx2.RemoteProtocolError("x", request=REQUEST), "transient"),
        (httpx2.InvalidURL("x"), "execution"),
        (urllib.error.URLError("x"), "transient"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
def test_x4_foreign_exceptions_have_categories(error: BaseException, category: str) -> None:
    made = table.translate(error)
    assert made.category == category
    assert made.message == CATEGORIES[ErrorCategory(category)].message
    assert made.__cause__ is error
    assert made.report is not None
    assert made.report.startswith(type(error).__qualname__)
    assert made.retryable is None
    assert made.may_retry is CATEGORIES[ErrorCategory(category)].retryable


STATUSES = {
    400: "permanent",
    401: "permission",
    403: "permission",
    404: "not_found",
    405: "permanent",
    408: "timeout",
    409: "permanent",
    410: "not_found",
    422: "permanent",
    425: "transient",
    429: "rate_limited",
    500: "transient",
    501: "permanent",
    502: "transient",
    503: "transient",
    504: "timeout",
    599: "transient",
}


@pytest.mark.parametrize(("status", "category"), STATUSES.items())
def test_x4_http_statuses_have_categories(status: int, category: str) -> None:
    assert category_of_status(status) == category
    made = table.translate(status_error(status))
    assert made.category == category
    assert made.retry_after is None
    rule = CATEGORIES[ErrorCategory(category)]
    assert made.message == f"A service that the tool uses responded with HTTP status {status}. {rule.message}"
    assert "hunter2" not in json.dumps(made.to_model())
    assert "hunter2" in (made.report or "")


def test_x4_the_errors_of_urllib_have_statuses_too() -> None:
    headers = Message()
    headers["Retry-After"] = "7"
    error = urllib.error.HTTPError("https://internal.example/hunter2", 429, "slow", headers, None)
    made = table.translate(error)
    error.close()
    assert (made.category, made.retry_after) == ("rate_limited", 7.0)
    assert "hunter2" not in made.message


@pytest.mark.parametrize("package", ["openai", "anthropic"])
def test_x4_the_errors_of_model_providers_are_known_by_name(package: str) -> None:
    class Response:
        headers = {"retry-after": "3"}

    status_class = type("APIStatusError", (Exception,), {"__module__": f"{package}._exceptions"})
    rate_class = type("RateLimitError", (status_class,), {"__module__": f"{package}._exceptions"})
    error: Any = rate_class("sk-hunter2")
    error.status_code, error.response = 429, Response()
    made = table.translate(error)
    assert (made.category, made.retry_after) == ("rate_limited", 3.0)
    assert "hunter2" not in json.dumps(made.to_model())


# Retry-After


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("12", 12.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("-5", 0.0),
        ("999999999", 86_400.0),
        ("inf", 86_400.0),
        ("nan", None),
        ("", None),
        (None, None),
        ("soon", None),
        ("Mon, 99 Nonsense 2026", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", None),
    ],
)
def test_x4_retry_after_is_read(value: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(value) == seconds


@pytest.mark.parametrize("status", [429, 503])
def test_x4_retry_after_in_seconds_reaches_the_error(status: int) -> None:
    made = table.translate(status_error(status, retry_after="30"))
    assert made.retry_after == 30.0
    assert made.to_model()["retry_after"] == 30.0


def test_x4_retry_after_as_a_date_reaches_the_error() -> None:
    at = datetime.now(UTC) + timedelta(minutes=10)
    made = table.translate(status_error(429, retry_after=format_datetime(at, usegmt=True)))
    assert made.retry_after is not None
    assert 590 < made.retry_after <= 600


# Extending


class Vendor(Exception): ...


class VendorTimeout(Vendor): ...


class VendorSlow(VendorTimeout, TimeoutError): ...


def test_x4_a_tool_error_is_not_translated() -> None:
    error = ToolError("mine", category="permission", details={"a": 1})
    assert table.translate(error) is error


def test_x4_the_nearest_class_decides() -> None:
    made = table.extended({Vendor: "permanent", VendorTimeout: ErrorCategory.TIMEOUT})
    assert made.translate(Vendor("x")).category == "permanent"
    assert made.translate(VendorTimeout("x")).category == "timeout"
    assert made.extended({Vendor: "resource"}).translate(Vendor("x")).category == "resource"
    reverse = table.extended({VendorTimeout: "timeout", Vendor: "permanent"})  # the order of the rules does not matter
    assert reverse.translate(VendorTimeout("x")).category == "timeout"
    only_base = table.extended({Vendor: "permanent"})
    assert only_base.translate(VendorSlow("x")).category == "permanent"  # VendorTimeout, Vendor, then TimeoutError
    assert table.translate(VendorSlow("x")).category == "timeout"


def test_x4_extending_leaves_the_table_as_it_was() -> None:
    table.extended({Vendor: "permanent", TimeoutError: "permanent"})
    assert table.translate(Vendor("x")).category == "execution"
    assert table.translate(TimeoutError()).category == "timeout"


def test_x4_a_class_can_be_named() -> None:
    here = f"{Vendor.__module__.partition('.')[0]}.Vendor"
    assert table.extended({here: "resource"}).translate(VendorTimeout("x")).category == "resource"
    assert table.extended({"builtins.KeyError": "not_found"}).translate(KeyError("x")).category == "not_found"


def test_x4_a_function_can_make_the_error() -> None:
    def rule(error: Vendor) -> ToolError:
        return ToolError(f"Try {error.args[0]}.", category="permanent", retryable=False, retry_after=1.0)

    error = Vendor("another city")
    made = table.extended({Vendor: rule}).translate(error)
    assert (made.message, made.category, made.retry_after) == ("Try another city.", "permanent", 1.0)
    assert made.report == "Vendor: another city"
    assert made.__cause__ is error


# Nothing of the host reaches the model


class Strict(BaseModel):
    password: int


def leak(how: str) -> Any:
    match how:
        case "file":
            raise FileNotFoundError(errno.ENOENT, "No such file", "/etc/hunter2")
        case "plain file":
            raise FileNotFoundError("/etc/hunter2")
        case "key":
            return {}["hunter2"]
        case "token":
            raise RuntimeError("Authorization: Bearer hunter2")
        case "chained":
            try:
                raise ValueError("hunter2")
            except ValueError as error:
                raise ConnectionError("postgresql://admin:hunter2@10.0.0.1/db") from error
        case "pydantic":
            return Strict.model_validate({"password": "hunter2"})
        case "assertion":
            raise AssertionError("hunter2")
        case "status":
            raise status_error(500)
        case "group":
            raise ExceptionGroup("hunter2", [ValueError("hunter2")])
        case "import":
            raise ImportError("hunter2", path="/srv/hunter2.py")
        case "unicode":
            return b"\xffhunter2".decode()
        case _:
            return json.loads("{hunter2")


LEAKS = {
    "file": "not_found",
    "plain file": "not_found",
    "key": "execution",
    "token": "execution",
    "chained": "transient",
    "pydantic": "execution",
    "assertion": "execution",
    "status": "transient",
    "group": "execution",
    "import": "configuration",
    "unicode": "execution",
    "json": "execution",
}


@tool
async def leaking(how: Annotated[str, "What to raise"]) -> Any:
    """Fail."""
    return leak(how)


@tool
def leaking_in_a_thread(how: Annotated[str, "What to raise"]) -> Any:
    """Fail."""
    return leak(how)


@pytest.mark.parametrize(("how", "category"), LEAKS.items())
@pytest.mark.parametrize("name", ["leaking", "leaking_in_a_thread"])
async def test_x4_no_path_or_secret_of_the_host_reaches_the_model(
    name: str, how: str, category: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(ToolError) as caught:
        await Registry([leaking, leaking_in_a_thread]).call(name, {"how": how})
    error = caught.value
    assert error.category == category
    shown = json.dumps(error.to_model()) + str(error)
    for secret in ("hunter2", "/etc", "/srv", ".py", "Traceback", "10.0.0.1", "internal.example"):
        assert secret not in shown
    assert error.__cause__ is not None
    assert error.report is not None
    assert error.report.startswith(f"{type(error.__cause__).__qualname__}: ")
    assert any(name in record.getMessage() for record in caplog.records) is CATEGORIES[error.category].reported


async def test_x4_a_pydantic_error_inside_of_a_handler_is_not_the_callers_mistake() -> None:
    with pytest.raises(ToolError) as caught:
        await Registry([leaking]).call("leaking", {"how": "pydantic"})
    assert caught.value.category == "execution"
    assert caught.value.details is None


async def test_x4_a_registry_uses_the_table_that_it_is_given() -> None:
    @tool
    async def fail() -> None:
        """Fail."""
        raise Vendor("x")

    registry = Registry([fail], errors=ErrorTable().extended({Vendor: "rate_limited"}))
    with pytest.raises(ToolError) as caught:
        await registry.call("fail")
    assert caught.value.category == "rate_limited"
    assert registry.stats("fail").failures == {"rate_limited": 1}
