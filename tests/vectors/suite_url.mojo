"""URLs: HEX(input) HEX(base) to `ERR` or `OK` and the components in hex."""

from flare.url.url import Url
from flare.url.parts import UrlParseError
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
        var url = _parse(input, base)
        var answer = String("OK")
        for part in [
            url.href(),
            url.protocol(),
            url.username(),
            url.password(),
            url.host(),
            url.hostname(),
            url.port(),
            url.pathname(),
            url.search(),
            url.hash(),
        ]:
            answer.write(" ", hex_of(part.as_bytes()))
        return answer^
    except:
        return "ERR"


def _parse(input: String, base: String) raises UrlParseError -> Url:
    if base.byte_length() > 0:
        return Url.parse(input, Url.parse(base))
    return Url.parse(input)
