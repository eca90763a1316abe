"""Events of a session: their kinds, shapes and routes, and the board that they are posted to and read from."""
