"""Fuzzes the HPACK decoder: it gives what a plain one gives, which stays the same
when it is encoded anew."""

from flare.bytes.buffer import Buffer
from flare.http.h2.hpack_decoder import HpackDecoder
from flare.http.h2.hpack_encoder import HpackEncoder, Indexing
from fuzz.engine import Target, cut_points, fuzz_main, octets_from_hex
from tests.support.hpack_reference import PlainDecoder, PlainField


def _decode(
    mut decoder: HpackDecoder,
    block: Span[UInt8, _],
    mut fields: List[PlainField],
) -> Bool:
    var out = Buffer()
    decoder.begin()
    try:
        while True:
            var field = decoder.next(block, out)
            if not field.is_there:
                return True
            var start = field.line.name_offset()
            var middle = field.line.value_offset()
            var octets = out.span()
            var copy = PlainField(List[UInt8](), List[UInt8]())
            copy.name.extend(octets[start : start + field.line.name_len()])
            copy.value.extend(octets[middle : middle + field.line.value_len()])
            fields.append(copy^)
    except:
        return False


def _check_same(left: List[PlainField], right: List[PlainField]) raises:
    if len(left) != len(right):
        raise Error(len(left), " fields, ", len(right), " were expected")
    for index in range(len(left)):
        var is_same = left[index].name == right[index].name
        if not is_same or left[index].value != right[index].value:
            raise Error("field ", index, " is another")


@fieldwise_init
struct HpackTarget(Target):
    """The same as a plain decoder, and round trip."""

    def seeds(self) -> List[String]:
        """Lists blocks of RFC 7541 appendix C."""
        return [
            octets_from_hex("828684410f7777772e6578616d706c652e636f6d"),
            octets_from_hex("828684be58086e6f2d6361636865"),
            octets_from_hex("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"),
            octets_from_hex("203fe11f 100870617373776f726406736563726574"),
            octets_from_hex("4883640effc1c0bf 400a637573746f6d2d6b657900"),
            octets_from_hex("4001610162 4001630164 bfbe 3f01 4001650166 be"),
            # Two entries that just fit.
            octets_from_hex("3f25 4001610162 4001630164 bf be"),
            # A long name that comes again and again, so that the table moves.
            octets_from_hex("407fcd07")
            + "v" * 1_100
            + octets_from_hex(
                "00 7e00 7e00 7e00 7e00 7e00 7e00 7e00 7e00 7e00"
            ),
        ]

    def tokens(self) -> List[String]:
        """Lists references, literals and sizes."""
        return [
            octets_from_hex("be"),
            octets_from_hex("bf"),
            octets_from_hex("7f00"),
            octets_from_hex("ff00"),
            octets_from_hex("3f21"),
            octets_from_hex("3fe11f"),
            octets_from_hex("4001610162"),
            octets_from_hex("400000"),
            octets_from_hex("0f2f8221ff"),
            octets_from_hex("fffffffff0"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Decodes the input in blocks, and encodes what came of it."""
        var decoder = HpackDecoder()
        var plain = PlainDecoder()
        var encoder = HpackEncoder()
        var other = HpackDecoder()
        var start = 0
        for end in cut_points(input, 3):
            var fields = List[PlainField]()
            var is_whole = _decode(decoder, input[start:end], fields)
            if plain.decode(input[start:end]) != is_whole:
                raise Error("taken: ", is_whole)
            _check_same(fields, plain.fields)
            if decoder.table.size != plain.size():
                raise Error("the table has ", decoder.table.size)
            var encoded = Buffer()
            encoder.begin(encoded)
            for index in range(len(fields)):
                encoder.add(
                    encoded,
                    Span(fields[index].name),
                    Span(fields[index].value),
                    Indexing(UInt8(index % 3)),
                )
            var again = List[PlainField]()
            if not _decode(other, encoded.span(), again):
                raise Error("what was encoded is refused")
            _check_same(again, fields)
            if not is_whole:
                return
            encoder.set_size_max(len(fields) * 40)
            start = end


def main() raises:
    """Runs the target."""
    fuzz_main("hpack", HpackTarget())
