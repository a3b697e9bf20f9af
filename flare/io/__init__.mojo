"""Streams of octets, and buffered reading and writing."""

from flare.io.buf_reader import BufReader
from flare.io.buf_writer import BufWriter
from flare.io.error import LimitExceeded, UnexpectedEnd
from flare.io.memory import MemoryReader, MemoryWriter
from flare.io.stream import Readable, Writable
