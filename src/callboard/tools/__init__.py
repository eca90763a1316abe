"""Tools: their definition, how a function becomes one, and the registry that holds them."""
