"""Sessions: one user's conversation, isolated from every other."""
