"""Rules of Anthropic's Messages API."""

from ...request import Rule
from . import messages, results, thinking, tools

RULES: tuple[Rule, ...] = (
    messages.key_and_version_named,
    messages.required_fields_given,
    messages.roles_known,
    messages.content_not_empty,
    messages.fields_known,
    messages.system_after_user,
    messages.text_not_empty,
    results.ids_well_formed,
    results.calls_by_the_assistant,
    results.arguments_are_objects,
    results.names_in_history_short,
    results.ids_unique,
    results.one_result_per_call,
    results.results_follow_calls,
    results.results_have_calls,
    messages.prefill_allowed,
    messages.prefill_without_trailing_space,
    thinking.thinking_signed,
    thinking.thinking_not_last,
    thinking.thinking_leads,
    thinking.thinking_first,
    thinking.thinking_leaves_the_choice,
    thinking.thinking_below_the_limit,
    tools.tool_names_well_formed,
    tools.tool_names_unique,
    tools.schemas_are_objects,
    tools.strict_schemas_closed,
)
"""All rules in the order in which they are applied. Later rules rely on earlier ones."""
