"""Trace contexts, spans and what is decided about them; without HTTP."""
