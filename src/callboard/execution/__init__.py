"""Executions: carrying one call out, from validation to the last retry."""
