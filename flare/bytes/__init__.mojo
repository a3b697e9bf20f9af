"""Octet classes, scans, and the byte buffer: pure building blocks."""
