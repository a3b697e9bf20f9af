"""Tokens of what a worker watches beside its connections.

A connection's token has its slot in the low half, which is never so high.
"""

comptime LISTENER_TOKEN: UInt64 = 0xFFFFFFFF
"""Connections wait; as a timer, accepting is to be tried again."""
comptime STOP_TOKEN: UInt64 = 0xFFFFFFFE
"""Another thread wants the worker to stop."""
comptime SIGNAL_TOKEN: UInt64 = 0xFFFFFFFD
"""A signal has come."""
comptime LIFELINE_TOKEN: UInt64 = 0xFFFFFFFC
"""The master of this process has ended."""
comptime DONE_TOKEN: UInt64 = 0xFFFFFFFB
"""Handlers on other threads have answered."""
comptime WAKE_TOKEN: UInt64 = 0xFFFFFFFA
"""Sources of content have something."""
comptime ORDER_TOKEN: UInt64 = 0xFFFFFFF9
"""The master of this process has orders."""
comptime FIRST_SPECIAL_TOKEN: UInt64 = 0xFFFFFFF9
"""The lowest of these."""
