"""The routes, by what they are about. Each module has a table of its endpoints."""
