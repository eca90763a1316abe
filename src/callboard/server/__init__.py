"""The server: sessions, their boards and their requests over HTTP."""
