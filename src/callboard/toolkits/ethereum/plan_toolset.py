"""Plans for Ethereum as tools: deployments, transactions and calls of tools, in groups that depend on each other."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from callboard import Settings, Tool, ToolContext, tool
from callboard.toolkits.plans import Plans, PlanSummary, plan_tools
from callboard.toolkits.plans.graph import MAX_GROUPS

from .client import EthereumClient
from .compiler import Compiler, Solc
from .plan_operations import EthereumGroup
from .plan_runner import EthereumRunner


def ethereum_plan_tools(client: EthereumClient, compiler: Compiler | None = None) -> Sequence[Tool]:
    """Make the tools for plans on the chains of a client: `set_execution_plan`, `next_groups` and `execute_plan`.

    Give a session the tools of `ethereum_toolset` too: a plan asks the wallet with `send_transaction_to_wallet`. The
    compiler is by default the command in `CALLBOARD_ETHEREUM_COMPILER`, or `solc`.
    """
    if compiler is None:
        command = Settings.from_environment().ethereum_compiler
        compiler = Solc() if command is None else Solc(command)
    plans = Plans(EthereumGroup, EthereumRunner(client, compiler))

    @tool(idempotent=True)
    async def set_execution_plan(
        ctx: ToolContext,
        groups: Annotated[list[EthereumGroup], Field(max_length=MAX_GROUPS, description="Groups of operations")],
    ) -> PlanSummary:
        """Store a plan: groups of deployments, transactions and calls of tools, which depend on each other.

        Nothing is sent until execute_plan is called.
        """
        return await plans.set(ctx, groups)

    made = (set_execution_plan, *plan_tools(plans))
    return tuple(each.with_(namespace="ethereum", group="plans", lifetime=client) for each in made)
