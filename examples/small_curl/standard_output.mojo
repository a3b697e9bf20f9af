"""Where bodies and heads go."""

from examples.small_curl.failure import Failure
from flare.http import ClientResponse
from flare.io import Writable
from flare.sys.descriptor import write_from


struct StandardOutput(Writable):
    """Where bodies go, octet for octet."""

    def __init__(out self):
        pass

    def write(mut self, octets: Span[UInt8, _]) raises -> Int:
        var count = write_from(1, octets)
        if count <= 0:
            raise Error("cannot write to standard output: errno ", -count)
        return count

    def write_all(mut self, octets: Span[UInt8, _]) raises Failure:
        var start = 0
        while start < len(octets):
            try:
                start += self.write(octets[start:])
            except error:
                raise Failure(23, String(error))

    def write_head(mut self, response: ClientResponse) raises Failure:
        var head = String(response.version, " ", response.status.code, " ")
        head.write(response.reason, "\r\n")
        ref fields = response.headers
        for index in range(len(fields)):
            head.write(fields.name(index), ": ", fields.value(index), "\r\n")
        head.write("\r\n")
        self.write_all(head.as_bytes())
