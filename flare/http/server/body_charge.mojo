"""The memory that content of requests takes while it is kept, counted."""

from std.atomic import Atomic
from std.memory import ArcPointer


struct BodyCharge(Movable):
    """What one connection's content takes of a worker's bound.

    It is taken off the sum when it goes, wherever the content ends: with its
    connection, or with a job on another thread.
    """

    var length: Int
    """Bytes; `set` changes it."""
    var _sum: ArcPointer[Atomic[Int64]]

    def __init__(out self, sum: ArcPointer[Atomic[Int64]]):
        """Starts with nothing.

        Args:
            sum: What all content of the worker takes, in bytes.
        """
        self.length = 0
        self._sum = sum.copy()

    def set(mut self, length: Int):
        """Says how much it is now.

        Args:
            length: In bytes.
        """
        _ = self._sum[].fetch_add(Int64(length - self.length))
        self.length = length

    def __deinit__(deinit self):
        """Takes it off the sum."""
        _ = self._sum[].fetch_add(Int64(-self.length))
