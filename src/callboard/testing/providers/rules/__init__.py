"""What the real services refuse: one file per provider, one small pure function per rule, each with its source."""
