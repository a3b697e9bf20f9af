"""The cookies of a client: Set-Cookie and the jar; pure."""
