"""What one worker tells of its work."""

from flare.runtime.stats_board import (
    STAT_CONNECTIONS,
    STAT_OPEN,
    STAT_REQUESTS,
    StatsBoard,
)
from std.memory import ArcPointer


struct Figures(Movable):
    """A worker's row on the board, written once a round of its loop."""

    var connection_count: Int
    """Connections accepted."""
    var _board: ArcPointer[StatsBoard]
    var _row: Int

    def __init__(out self, var board: ArcPointer[StatsBoard], row: Int):
        """Starts at nothing.

        Args:
            board: The server's board.
            row: The worker's row.
        """
        self.connection_count = 0
        self._board = board^
        self._row = row

    @always_inline
    def publish(self, request_count: Int, open_count: Int):
        """Writes the row.

        Args:
            request_count: Requests answered.
            open_count: Connections open now.
        """
        ref board = self._board[]
        board.set(self._row, STAT_REQUESTS, request_count)
        board.set(self._row, STAT_CONNECTIONS, self.connection_count)
        board.set(self._row, STAT_OPEN, open_count)
