"""Rules of OpenAI's Chat Completions API."""

from ...request import Rule
from . import fields, messages, results, tools

RULES: tuple[Rule, ...] = (
    fields.key_named,
    fields.fields_known,
    fields.required_fields_given,
    fields.arrays_not_empty,
    messages.roles_known,
    messages.content_given,
    results.arguments_are_texts,
    results.ids_short,
    results.names_in_history_well_formed,
    results.at_most_128_calls,
    results.one_result_per_call,
    results.results_have_calls,
    results.results_follow_calls,
    tools.at_most_128_tools,
    tools.tool_names_well_formed,
    tools.schemas_supported,
)
"""All rules in the order in which they are applied. Later rules rely on earlier ones."""
