"""What a room keeps of its messages, for clients that come back; pure."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from std.memory import ArcPointer


@fieldwise_init
struct HistoryBounds(Copyable, Movable):
    """How much is kept."""

    var count_max: Int
    """Most messages of a room; 0 keeps none."""
    var len_max: Int
    """Most octets of a room, with the headers of frames."""
    var rooms_max: Int
    """Most rooms of which something is kept."""

    def check(self) raises:
        if self.count_max < 0 or self.len_max < 1 or self.rooms_max < 1:
            raise Error(
                "WsHub: history is ",
                self.count_max,
                ", history_size ",
                self.len_max,
                ", history_rooms ",
                self.rooms_max,
                "; the first must be at least 0, the others at least 1",
            )


struct _Kept(Movable):
    """A message as its frame, shared with all who got it."""

    var id: String
    var frame: ArcPointer[Buffer]

    def __init__(out self, id: StringSpan, frame: ArcPointer[Buffer]):
        self.id = String(id)
        self.frame = frame.copy()


@fieldwise_init
struct MissedMessages(Movable):
    """What a client has missed, as far as it is known."""

    var frames: List[ArcPointer[Buffer]]
    """The messages, oldest first."""
    var is_complete: Bool
    """False if there may have been more."""


struct RoomHistory(Defaultable, Movable, Sized):
    """The last messages of a room, bounded by their count and their octets."""

    var used: Int
    """When something was added last, by a count of all rooms."""
    var _kept: List[ArcPointer[_Kept]]
    # What was dropped stands before it until the list is shortened.
    var _start: Int
    var _octet_count: Int
    # Of the message before the oldest: who saw that has missed nothing else.
    var _dropped_id: String

    def __len__(self) -> Int:
        return len(self._kept) - self._start

    def octet_count(self) -> Int:
        """Sums the octets of all frames that are kept."""
        return self._octet_count

    def put(
        mut self,
        id: StringSpan,
        frame: ArcPointer[Buffer],
        bounds: HistoryBounds,
    ):
        """Adds a message, whose id may be empty, and drops the oldest ones that
        are too many."""
        self._kept.append(ArcPointer(_Kept(id, frame)))
        self._octet_count += len(frame[])
        while len(self) > bounds.count_max or (
            self._octet_count > bounds.len_max
        ):
            self._drop_oldest()

    def _drop_oldest(mut self):
        var oldest = self._kept.at(self._start).copy()
        self._octet_count -= len(oldest[].frame[])
        self._dropped_id = oldest[].id
        self._start += 1
        # Shortened when half of it is gone, so that each message moves once.
        if 2 * self._start >= len(self._kept):
            var rest = List[ArcPointer[_Kept]]()
            for index in range(self._start, len(self._kept)):
                rest.append(self._kept.at(index).copy())
            self._kept = rest^
            self._start = 0
        else:
            # Its memory goes now; the place is passed over.
            self._kept[self._start - 1] = self._kept[self._start].copy()

    def missed(self, last_id: StringSpan) -> MissedMessages:
        """Finds what came after a message. If it is not known, or empty since
        none was seen: all that is kept, and that it may not be complete."""
        var start = self._start
        var is_known = last_id.byte_length() == 0 or (
            self._dropped_id == last_id
        )
        if last_id.byte_length() > 0:
            for index in reversed(range(self._start, len(self._kept))):
                if self._kept.at(index)[].id == last_id:
                    start = index + 1
                    is_known = True
                    break
        var frames = List[ArcPointer[Buffer]](capacity=len(self._kept) - start)
        for index in range(start, len(self._kept)):
            frames.append(self._kept.at(index)[].frame.copy())
        return MissedMessages(frames^, is_known)
