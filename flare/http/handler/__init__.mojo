"""What answers requests, and what the server and middleware share of it."""
