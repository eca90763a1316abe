"""The `openapi` toolkit: the operations of an HTTP API as tools, from its OpenAPI document.

`openapi_toolset` takes a document or its address. It needs the extras `http` and `dynamic`.
"""

from .toolset import OpenApiToolset, openapi_toolset

__all__ = ["OpenApiToolset", "openapi_toolset"]
