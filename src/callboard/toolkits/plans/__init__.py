"""The `plans` toolkit: groups of operations with dependencies, carried out in the background."""
