"""URLs: HEX(input) HEX(base) to `ERR` or `OK` and the components in hex."""

from tests.support.url_parts import url_at, url_members
from tests.vectors.hex_text import hex_of, octets_of


def run_url(line: StringSpan) raises -> String:
    """Runs one case."""
    var space = line.find(" ")
    if space < 0:
        raise Error("two fields are needed: ", line)
    var input = String(from_utf8_lossy=octets_of(line[byte=0:space]))
    var base = String(
        from_utf8_lossy=octets_of(line[byte = space + 1 : line.byte_length()])
    )
    try:
        var url = url_at(input, base)
        var answer = String("OK")
        for part in url_members(url):
            answer.write(" ", hex_of(part.as_bytes()))
        return answer^
    except:
        return "ERR"
