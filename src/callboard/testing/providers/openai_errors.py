"""Error bodies of OpenAI's services: https://platform.openai.com/docs/guides/error-codes"""

from .request import Body

KINDS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


def error(status: int, message: str, kind: str | None, param: str | None = None, code: str | None = None) -> Body:
    """Make the body of an error."""
    usual = KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind or usual, "param": param, "code": code}}
