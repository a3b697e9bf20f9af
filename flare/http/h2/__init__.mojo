"""HTTP/2 (RFC 9113): frames, field compression (RFC 7541), streams and their windows; without I/O and clock."""
