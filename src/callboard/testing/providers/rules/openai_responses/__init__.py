"""Rules of OpenAI's Responses API."""

from ...request import Rule
from . import fields, items, reasoning, results, tools

RULES: tuple[Rule, ...] = (
    fields.key_named,
    fields.fields_known,
    fields.required_fields_given,
    items.roles_known,
    items.content_of_its_speaker,
    items.ids_well_formed,
    items.items_unique,
    results.call_ids_short,
    results.names_in_history_well_formed,
    results.outputs_have_calls,
    results.one_output_per_call,
    results.calls_have_outputs,
    reasoning.reasoning_followed,
    reasoning.reasoning_kept,
    tools.tool_names_well_formed,
    tools.schemas_supported,
)
"""All rules in the order in which they are applied. Later rules rely on earlier ones."""
