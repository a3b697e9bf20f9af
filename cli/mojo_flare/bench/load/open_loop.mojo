"""The load generator of `flare bench`: a constant rate, whatever the server does.

Usage: open_loop URL METHOD RATE CONNECTIONS DURATION_MS TIMEOUT_MS INSECURE
       CONTENT_FILE [NAME VALUE]...

RATE is in requests a second, 0 for as many as the connections carry. INSECURE
is 1 to accept any certificate. CONTENT_FILE is `-` for no content. What comes
of it is told as `Tally` says; an error ends it with a line on standard error.
"""

from arrivals import Arrivals
from flare.http.message.header_map import HeaderMap
from flare.sys.clock import monotonic_ns
from flare.sys.process import raise_descriptor_limit
from flare.sys.signal import ignore_sigpipe
from flare.url.url import Url
from generator import Generator
from std.sys import argv, exit, stderr
from target import Target

comptime _LEAD_NS = 1_000_000
"""From the last connection to the first request."""
comptime _FIXED_COUNT = 9
"""Words before the fields."""
comptime _MS_NS = 1_000_000


def main():
    try:
        load()
    except error:
        print(error, file=stderr)
        exit(1)


def load() raises:
    var words = List[String]()
    for word in argv():
        words.append(String(word))
    if len(words) < _FIXED_COUNT:
        raise Error("open_loop is called by flare bench")
    ignore_sigpipe()
    raise_descriptor_limit()
    var duration_ns = Int(words[5]) * _MS_NS
    var fields = HeaderMap()
    for index in range(_FIXED_COUNT, len(words) - 1, 2):
        fields.append(words[index], words[index + 1])
    var target = Target(
        Url.parse(words[1]),
        words[2],
        fields,
        Span(content_of(words[8])),
        words[7] == "1",
    )
    var generator = Generator(target^, Int(words[4]), Int(words[6]) * _MS_NS)
    var arrivals = Arrivals(
        Int(words[3]), monotonic_ns() + _LEAD_NS, duration_ns
    )
    generator.run(arrivals)
    generator.tally.tell_end(duration_ns)


def content_of(path: String) raises -> List[UInt8]:
    """Reads the request's content; none for `-`."""
    if path == "-":
        return []
    with open(path, "r") as file:
        return file.read_bytes()
