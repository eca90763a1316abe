"""Events: what can happen in a session, and the board on which everyone posts and reads it."""
