"""Fuzzes the Cookie field and percent-encoding: nothing read is lost or made up.
"""

from flare.http.message.cookie import parse_cookie_header
from flare.url.percent import percent_decode
from fuzz.engine import Target, fuzz_main


def _decoded_len(input: Span[UInt8, _]) -> Int:
    try:
        return percent_decode(input).byte_length()
    except error:
        return error.offset


@fieldwise_init
struct CookieTarget(Target):
    """Round trip of cookies; decoding never lengthens."""

    def seeds(self) -> List[String]:
        """Lists fields."""
        return ["a=b; c=d", 'x="y z";;=;q', "a%20b%C3%A4"]

    def tokens(self) -> List[String]:
        """Lists delimiters."""
        return ["=", ";", "; ", "%", "%41", "\t"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads, writes, and reads again."""
        var cookies = parse_cookie_header(input)
        var written = String()
        for cookie in cookies:
            written.write(cookie, "; ")
        if parse_cookie_header(written) != cookies:
            raise Error("not the same: ", written)
        if _decoded_len(input) > len(input):
            raise Error("longer than its encoding")


def main() raises:
    """Runs the target."""
    fuzz_main("cookie", CookieTarget())
