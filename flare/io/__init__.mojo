"""Streams of octets, and buffered reading and writing."""

from flare.io.buf_reader import BufReader
from flare.io.buf_writer import BufWriter
from flare.io.stream import (
    LimitExceeded,
    MemoryReader,
    MemoryWriter,
    Readable,
    UnexpectedEnd,
    Writable,
)
