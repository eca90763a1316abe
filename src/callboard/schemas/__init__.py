"""JSON schemas of tools in the form that each model and protocol requires. Pure functions, no I/O."""
