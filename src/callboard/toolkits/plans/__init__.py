"""The `plans` toolkit: calls of tools in groups that depend on each other, executed in the background.

`tools` are for plans of any tools. `Plans` and `plan_tools` make those for operations of your own.
"""

from .executor import OperationRunner, Step
from .graph import Group, GroupState
from .plans import Plans
from .summary import GroupSummary, PlanSummary
from .tools import ToolOperation, plan_tools, plan_toolset, tools

__all__ = [
    "Group",
    "GroupState",
    "GroupSummary",
    "OperationRunner",
    "PlanSummary",
    "Plans",
    "Step",
    "ToolOperation",
    "plan_tools",
    "plan_toolset",
    "tools",
]
