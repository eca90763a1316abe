"""Rules for JSON from outside: depth, size, readability and duplicate keys, checked before the content is used."""
