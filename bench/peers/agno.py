# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false
"""Agno: a function call, from its arguments' text to its result."""

from contextlib import AsyncExitStack
from typing import Any

from agno.tools.function import Function
from agno.utils.functions import get_function_call
from pydantic import BaseModel

from bench.workloads import Workload


async def cases(stack: AsyncExitStack):
    def aexecute(work: Workload):
        function = Function.from_callable(work.function)
        function.process_entrypoint()
        functions = {work.tool: function}

        async def unit():
            call: Any = get_function_call(work.tool, work.arguments, "1", functions)
            value = (await call.aexecute()).result
            return value.model_dump_json() if isinstance(value, BaseModel) else str(value)

        return unit

    return {"FunctionCall.aexecute": aexecute}
