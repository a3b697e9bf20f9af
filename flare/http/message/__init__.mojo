"""RFC 9110 message values, pure."""
