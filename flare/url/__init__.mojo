"""URLs, host names of all scripts, percent-encoding; pure."""
