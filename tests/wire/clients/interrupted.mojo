"""Makes each call that a signal may end once, and prints what came of it; the folder
for its file is the argument."""

from flare.sys.clock import monotonic_ms
from flare.sys.descriptor import Descriptor, Pipe, write_from
from flare.sys.sockets.descriptor_passing import (
    SocketPair,
    receive_with_descriptor,
    send_with_descriptor,
)
from flare.sys.file import File, send_file
from flare.sys.log import log_line
from flare.sys.poll import pause
from flare.sys.sockets.socket import receive
from std.sys import argv


def _print_file(name: StringSpan) raises:
    print("opened", File.open(String(name, "/interrupted")).status().size)
    var file = File.temporary(name)
    file.append("0123456789".as_bytes())
    file.truncate(4)
    file.sync()
    print("length", file.status().size)
    var room = Array[UInt8, 16](fill=0)
    var count = file.read_at(Span(room), 1)
    print("read", count, Int(room[0]))
    var pair = SocketPair()
    var here = pair.take_first()
    var there = pair.take_second()
    print("sent", send_file(here.fd(), file.fd(), 0, 4))
    count = receive(there.fd(), Span(room))
    print("came", count, Int(room[0]))
    _ = here^
    _ = there^
    _ = file^


def _print_passed() raises:
    var pair = SocketPair()
    var here = pair.take_first()
    var there = pair.take_second()
    var pipe = Pipe()
    var octets: Array[UInt8, 2] = [7, 8]
    var room = Array[UInt8, 2](fill=0)
    print(
        "passed",
        send_with_descriptor(here.fd(), Span(octets), pipe.writing_fd()),
    )
    var passed = Descriptor(owned=-1)
    var count = receive_with_descriptor(there.fd(), Span(room), passed)
    print("taken", count, Int(room[1]))
    print("piped", write_from(passed.fd(), Span(octets)), pipe.drain())
    _ = passed^
    _ = here^
    _ = there^


def _print_pause():
    var begun_ms = monotonic_ms()
    pause(30)
    print("paused", monotonic_ms() - begun_ms >= 30)


def main() raises:
    _print_pause()
    _print_file(argv()[1])
    _print_passed()
    log_line("a line")
    log_line("another")
