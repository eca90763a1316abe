"""Rules of the Gemini API."""

from ...request import Rule
from . import contents, fields, results, tools

RULES: tuple[Rule, ...] = (
    fields.key_named,
    fields.fields_known,
    contents.contents_given,
    contents.roles_known,
    contents.parts_not_empty,
    results.calls_after_user,
    results.responses_after_calls,
    results.one_response_per_call,
    contents.user_last,
    results.calls_signed,
    tools.tool_names_well_formed,
    tools.tool_names_unique,
    tools.schemas_supported,
    tools.functions_for_the_choice,
)
"""All rules in the order in which they are applied. Later rules rely on earlier ones."""
