"""Handlers and the router."""
