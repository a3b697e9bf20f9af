"""Range fields: HEX(Range) SIZE to `ERR`, `NONE` or `OK start-length,...`."""

from flare.http.conditional.range import RangeSet, RangeVerdict
from tests.vectors.hex_text import octets_of


def run_range(line: StringSpan) raises -> String:
    """Runs one case."""
    var words = line.split(" ")
    if len(words) != 2:
        raise Error("not two words: ", line)
    var set = RangeSet.parse(octets_of(words[0]), Int(words[1]))
    if set.verdict == RangeVerdict.WHOLE:
        return "NONE"
    if set.verdict != RangeVerdict.PARTS:
        return "ERR"
    var answer = String("OK")
    for index in range(len(set.ranges)):
        var found = set.ranges[index]
        answer.write(" " if index == 0 else ",")
        answer.write(found.start, "-", found.length)
    return answer^
