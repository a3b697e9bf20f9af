"""Fuzzes responses as they are kept outside of the process."""

from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.response_form import read_stored, write_stored
from fuzz.engine import Target, fuzz_main

comptime NOW_S = 1_000_000_000
comptime _ZERO = "\x00\x00\x00"


def _begin() -> String:
    # Status 357, made and come in 1970, fresh for a minute.
    return (
        String("flarec1\n")
        + String(_ZERO) * 2
        + "\x01\x65"
        + String(_ZERO) * 10
        + "\x00\x3c"
        + _ZERO
        + "\x01k"
    )


@fieldwise_init
struct ResponseFormTarget(Target):
    """What is read is written again to the same octets."""

    def seeds(self) -> List[String]:
        """Lists responses to `k`."""
        return [
            _begin() + String(_ZERO) * 4,
            _begin()
            + _ZERO
            + "\x01"
            + _ZERO
            + "\x04vary"
            + _ZERO
            + "\x01a"
            + _ZERO
            + "\x01"
            + _ZERO
            + "\x01a"
            + _ZERO
            + "\x01b"
            + _ZERO
            + "\x02hi",
        ]

    def tokens(self) -> List[String]:
        """Lists what responses are made of."""
        return [
            "flarec1\n",
            "\x00\x00\x00\x01",
            "vary",
            "cache-control",
            "private",
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input."""
        var policy = CachePolicy()
        var read = read_stored(input, "k", policy, NOW_S)
        if not read:
            return
        if read.value().age_s(NOW_S) < 0 or read.value().lifetime_s < 0:
            raise Error("a time below zero")
        var written = write_stored("k", read.value())
        var again = read_stored(Span(written), "k", policy, NOW_S)
        if not again or write_stored("k", again.value()) != written:
            raise Error("changed by a round trip")


def main() raises:
    """Runs the target."""
    fuzz_main("response_form", ResponseFormTarget())
