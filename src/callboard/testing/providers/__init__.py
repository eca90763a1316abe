"""Test doubles of the model providers: small servers that speak the real protocols, answer by a script, and refuse the
requests that the real services refuse.

They need the extra `testing`; `double.model(…)`, which makes a model of Pydantic AI, also needs `chat`.
"""

from .anthropic import AnthropicDouble
from .double import Double
from .gemini import GeminiDouble
from .openai_chat import OpenAIChatDouble
from .openai_responses import OpenAIResponsesDouble
from .reply import Exchange
from .request import Refusal, Request
from .script import Break, Call, Failure, Text, Thinking, Turn, Usage
from .synchronization import Gate, Signal

__all__ = [
    "AnthropicDouble",
    "Break",
    "Call",
    "Double",
    "Exchange",
    "Failure",
    "Gate",
    "GeminiDouble",
    "OpenAIChatDouble",
    "OpenAIResponsesDouble",
    "Refusal",
    "Request",
    "Signal",
    "Text",
    "Thinking",
    "Turn",
    "Usage",
]
