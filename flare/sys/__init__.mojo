"""Foreign calls: the one place where the operating system is spoken to."""
