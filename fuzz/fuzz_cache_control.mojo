"""Fuzzes Cache-Control: what is written is read back the same."""

from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.targeted import parse_targeted
from flare.http.message.header_map import HeaderMap
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct CacheControlTarget(Target):
    """Round trips, and lines that are one list."""

    def seeds(self) -> List[String]:
        """Lists fields."""
        return [
            'public, max-age=60, private="set-cookie, x"',
            "no-store, max-stale, stale-while-revalidate=5",
            'a=(1 "b";c=?1), max-age=3;x=:YQ==:, d=1.5',
        ]

    def tokens(self) -> List[String]:
        """Lists what fields are made of."""
        return ['"', ",", "=", "\\", "max-age", "no-cache", ";", "(", ")", "?1"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input as either kind of field."""
        var control = CacheControl.parse(input)
        var written = String(control)
        if CacheControl.parse(written.as_bytes()) != control:
            raise Error("changed by a round trip: ", written)
        var twice = control.copy()
        twice.add_line(input)
        if twice != control:
            raise Error("another value when it is said twice: ", written)
        var headers = HeaderMap()
        try:
            headers.append("x", StringSpan(unsafe_from_utf8=input))
        except:
            return
        var targeted = parse_targeted(headers, "x")
        if targeted:
            written = String(targeted.value())
            if CacheControl.parse(written.as_bytes()) != targeted.value():
                raise Error("changed by a round trip: ", written)


def main() raises:
    """Runs the target."""
    fuzz_main("cache_control", CacheControlTarget())
