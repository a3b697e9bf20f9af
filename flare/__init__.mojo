"""flare: the networking library for Mojo."""
