"""JSON schemas of tools in the form that each model and protocol wants. Pure functions, no I/O."""
