"""RFC 9112 protocol cores, pure."""
