"""Rules by which the real services refuse requests: a package per provider, a pure function per rule."""
