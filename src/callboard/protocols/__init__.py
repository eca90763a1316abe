"""Protocols in which other programs use the same sessions, each in its own package."""
