"""The terminal: text, tables, live progress, the keyboard, and the chat."""
