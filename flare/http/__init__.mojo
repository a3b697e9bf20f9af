"""HTTP messages, server and routing."""
