"""Tools: definitions, their creation from functions, and the registry."""
