"""The WebSocket protocol (RFC 6455, RFC 7692) between octets and octets."""
