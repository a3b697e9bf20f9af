"""Forms with files: HEX(boundary) HEX(body) to `ERR`, or `OK` and each part as
`f:HEX(name):HEX(data)` or `F:HEX(name):HEX(filename):HEX(data)`."""

from flare.http.multipart.parser import (
    MultipartError,
    MultipartEvent,
    MultipartParser,
)
from tests.vectors.hex_text import hex_of, octets_of


def run_multipart(line: StringSpan) raises -> String:
    """Runs one case."""
    var words = line.split(" ")
    if len(words) != 2:
        raise Error("not two words: ", line)
    var boundary = String(from_utf8_lossy=octets_of(words[0]))
    try:
        return _parts(boundary, octets_of(words[1]))
    except:
        return "ERR"


def _parts(
    boundary: String, body: Span[UInt8, _]
) raises MultipartError -> String:
    var parser = MultipartParser(boundary)
    var answer = String("OK")
    var data = List[UInt8]()
    parser.receive(body)
    while True:
        var event = parser.next_event()
        if event == MultipartEvent.PART:
            data.clear()
        elif event == MultipartEvent.DATA:
            data.extend(parser.data())
        elif event == MultipartEvent.PART_END:
            _write_part(parser, data, answer)
        else:
            break
    parser.finish()
    return answer^


def _write_part(parser: MultipartParser, data: List[UInt8], mut answer: String):
    ref part = parser.part
    answer.write(" F:" if part.filename else " f:")
    answer.write(hex_of(part.name.as_bytes()), ":")
    if part.filename:
        answer.write(hex_of(part.filename.value().as_bytes()), ":")
    answer.write(hex_of(data))
