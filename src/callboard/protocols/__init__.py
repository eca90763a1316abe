"""Protocols in which other programs use the same sessions, each in a package of its own."""
