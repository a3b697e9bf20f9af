"""Streams of octets, and buffered reading and writing."""

from flare.io.buffered import BufReader
from flare.io.buffered import BufWriter
from flare.io.stream import (
    LimitExceeded,
    MemoryReader,
    MemoryWriter,
    Readable,
    UnexpectedEnd,
    Writable,
)
