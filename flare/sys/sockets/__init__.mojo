"""Calls on sockets: addresses, options, messages with descriptors, name lookup."""
