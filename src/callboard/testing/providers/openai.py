"""The parts that the doubles of OpenAI's two APIs share."""

from typing import Any

from .client import import_optional
from .double import Double
from .request import Body, Refusal

KINDS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
"""https://platform.openai.com/docs/guides/error-codes"""


class OpenAIDouble(Double):
    """A test double of an API of OpenAI."""

    def provider(self) -> Any:
        """Make a Pydantic AI provider that uses this double, without retries."""
        client = import_optional("openai").AsyncOpenAI(
            api_key="none", base_url=f"{self.url}/v1", http_client=self.http_client(), max_retries=0
        )
        return import_optional("pydantic_ai.providers.openai").OpenAIProvider(openai_client=client)

    def error(self, refusal: Refusal) -> Body:
        usual = KINDS.get(refusal.status, "server_error" if refusal.status >= 500 else "invalid_request_error")
        kind = refusal.kind or usual
        return {"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": refusal.code}}
