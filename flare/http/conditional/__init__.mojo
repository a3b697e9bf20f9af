"""Conditional and range requests; pure."""
