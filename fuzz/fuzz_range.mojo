"""Fuzzes Range: what is accepted lies within the representation."""

from flare.http.conditional.range import RANGE_COUNT_MAX, RangeSet, RangeVerdict
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct RangeTarget(Target):
    """Bounds, the same ranges as a plain reader, and that coalescing loses and
    repeats nothing."""

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
            if is_cut or set.verdict == RangeVerdict.UNSATISFIABLE:
                _check_plain(String(from_utf8_lossy=input), set, size)
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


def _check_plain(text: String, set: RangeSet, size: Int) raises:
    """Compares with what each range says by itself (RFC 9110 section 14.1.2)."""
    var wanted = String()
    for part in text[byte = text.find("=") + 1 :].split(","):
        var ends = part.split("-")
        if len(ends) < 2:
            continue
        var first = _position(ends[0])
        var last = _position(ends[1])
        if first < 0:
            # The last octets: so many, or all there are.
            first = max(size - last, 0) if last > 0 else size
            last = size - 1
        if last < 0 or last >= size:
            last = size - 1
        if first <= last:
            wanted.write(first, "-", last, " ")
    var found = String()
    for index in range(len(set.ranges)):
        found.write(set.ranges[index], " ")
    if found != wanted:
        raise Error("of ", size, ": ", found, "not ", wanted)


def _position(text: StringSpan) raises -> Int:
    """Reads digits, however many; -1 for none."""
    var digits = text.strip(" \t").lstrip("0")
    if digits.byte_length() > 15:
        return 10**15
    if digits.byte_length() > 0:
        return Int(digits)
    return 0 if "0" in text else -1


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
