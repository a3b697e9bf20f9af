"""Replies and commands of Redis (RESP2, RESP3) between octets and octets."""
