"""RFC 9111 as values: no socket, no clock."""
