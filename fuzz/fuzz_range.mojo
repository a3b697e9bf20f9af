"""Fuzzes Range: what is accepted lies within the representation."""

from flare.http.conditional.range import RANGE_COUNT_MAX, RangeSet, RangeVerdict
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct RangeTarget(Target):
    """Bounds, and that coalescing loses and repeats nothing."""

    def seeds(self) -> List[String]:
        """Lists fields."""
        return ["bytes=0-4,2-9,50-", "bytes=-5", "bytes=99-,1-2 , ,7-7"]

    def tokens(self) -> List[String]:
        """Lists what fields are made of."""
        return ["bytes=", "-", ",", " ", "9223372036854775807", "100", "0"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the field for representations of several lengths."""
        for size in [0, 1, 100, 1_000]:
            var set = RangeSet.parse(input, size)
            var is_cut = set.verdict == RangeVerdict.PARTS
            if is_cut != (len(set.ranges) > 0):
                raise Error("verdict and ranges differ")
            if len(set.ranges) > RANGE_COUNT_MAX:
                raise Error("too many ranges")
            var covered = _covered(set, size)
            set.coalesce()
            var joined = _covered(set, size)
            var total = 0
            for index in range(len(set.ranges)):
                total += set.ranges[index].length
            for index in range(size):
                total -= Int(joined[index])
                if covered[index] and not joined[index]:
                    raise Error("octet ", index, " is lost")
            if total != 0:
                raise Error("octets are sent twice")


def _covered(set: RangeSet, size: Int) raises -> List[Bool]:
    var covered = List[Bool](length=size, fill=False)
    for index in range(len(set.ranges)):
        var found = set.ranges[index]
        if found.start < 0 or found.length < 1 or found.end() > size:
            raise Error("outside of the representation: ", found)
        for place in range(found.start, found.end()):
            covered[place] = True
    return covered^


def main() raises:
    """Runs the target."""
    fuzz_main("range", RangeTarget())
