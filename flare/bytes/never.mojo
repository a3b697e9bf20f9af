"""The time of what has no end."""

comptime NEVER = Int.MAX
"""A time that never comes, in any unit and on any clock: all others are before it.
Nothing may be added to it."""
