"""Signed cookies: sessions, keys, tokens; pure."""
