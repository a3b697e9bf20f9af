"""Requests and responses under way, as values: no socket, no clock, no log."""
