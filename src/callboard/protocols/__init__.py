"""Protocols of others: what Callboard says to clients that know nothing of it."""
