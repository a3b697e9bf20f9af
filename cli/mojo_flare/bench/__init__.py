"""`flare bench`: load at a constant rate, and what became of it.

The generator is a Mojo program, `load/open_loop.mojo`, built when it is first
used and kept in the user's cache. Here it is started, listened to and reported.
"""
