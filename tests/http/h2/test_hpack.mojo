"""HPACK: the examples of RFC 7541, round trips, and what is refused."""

from flare.bytes.buffer import Buffer
from flare.http.h2.hpack_decoder import HpackDecoder
from flare.http.h2.hpack_encoder import (
    HpackEncoder,
    Indexing,
    append_integer,
    indexing_of,
)
from flare.http.h2.hpack_table import FieldKind, kind_of
from flare.http.h2.huffman import (
    HUFFMAN_BROKEN,
    huffman_decode,
    huffman_encode,
    huffman_len,
)
from tests.support.assertions import assert_equal, assert_true
from tests.support.guard_page import GuardedBytes
from tests.vectors.hex_text import hex_of, octets_of


def _decode(mut decoder: HpackDecoder, hex: StringSpan) raises -> String:
    """Lists the fields of a block, a line each."""
    return _text(decoder, Span(octets_of(hex)))


def _text(mut decoder: HpackDecoder, block: Span[UInt8, _]) raises -> String:
    var out = Buffer()
    var text = String()
    decoder.begin()
    while True:
        var field = decoder.next(block, out)
        if not field.is_there:
            return text^
        var line = field.line
        var octets = out.span()
        text += String(
            from_utf8=octets[
                line.name_offset() : line.name_offset() + line.name_len()
            ]
        )
        text += "="
        text += String(
            from_utf8=octets[
                line.value_offset() : line.value_offset() + line.value_len()
            ]
        )
        text += "\n"


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var hex: StaticString
    var fields: StaticString
    var table_size: Int


def _run(rows: List[_Row], size_max: Int) raises:
    var decoder = HpackDecoder()
    decoder.table.resize(size_max)
    for row in rows:
        assert_equal(_decode(decoder, row.hex), row.fields, row.rule)
        assert_equal(decoder.table.size, row.table_size, row.rule)


comptime _FIRST = StaticString(
    ":method=GET\n:scheme=http\n:path=/\n:authority=www.example.com\n"
)
comptime _SECOND = StaticString(
    ":method=GET\n:scheme=http\n:path=/\n:authority=www.example.com\n"
    "cache-control=no-cache\n"
)
comptime _THIRD = StaticString(
    ":method=GET\n:scheme=https\n:path=/index.html\n"
    ":authority=www.example.com\ncustom-key=custom-value\n"
)


def test_requests_of_the_rfc() raises:
    var rows: List[_Row] = [
        _Row(
            "7541-C.3.1",
            "828684410f7777772e6578616d706c652e636f6d",
            _FIRST,
            57,
        ),
        _Row("7541-C.3.2", "828684be58086e6f2d6361636865", _SECOND, 110),
        _Row(
            "7541-C.3.3",
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
            _THIRD,
            164,
        ),
    ]
    _run(rows, 4_096)
    var coded: List[_Row] = [
        _Row("7541-C.4.1", "828684418cf1e3c2e5f23a6ba0ab90f4ff", _FIRST, 57),
        _Row("7541-C.4.2", "828684be5886a8eb10649cbf", _SECOND, 110),
        _Row(
            "7541-C.4.3",
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
            _THIRD,
            164,
        ),
    ]
    _run(coded, 4_096)


comptime _MOVED = StaticString(
    ":status=302\ncache-control=private\n"
    "date=Mon, 21 Oct 2013 20:13:21 GMT\nlocation=https://www.example.com\n"
)
comptime _MOVED_AGAIN = StaticString(
    ":status=307\ncache-control=private\n"
    "date=Mon, 21 Oct 2013 20:13:21 GMT\nlocation=https://www.example.com\n"
)
comptime _FOUND = StaticString(
    ":status=200\ncache-control=private\n"
    "date=Mon, 21 Oct 2013 20:13:22 GMT\nlocation=https://www.example.com\n"
    "content-encoding=gzip\n"
    "set-cookie=foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n"
)


def test_responses_of_the_rfc() raises:
    # The table has 256 octets there, so entries are evicted.
    var rows: List[_Row] = [
        _Row(
            "7541-C.5.1",
            "4803333032580770726976617465611d4d6f6e2c203231204f63742032303133"
            "2032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d70"
            "6c652e636f6d",
            _MOVED,
            222,
        ),
        _Row("7541-C.5.2", "4803333037c1c0bf", _MOVED_AGAIN, 222),
        _Row(
            "7541-C.5.3",
            "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d"
            "54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f5049"
            "5541585157454f49553b206d61782d6167653d333630303b2076657273696f6e"
            "3d31",
            _FOUND,
            215,
        ),
    ]
    _run(rows, 256)
    var coded: List[_Row] = [
        _Row(
            "7541-C.6.1",
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a6"
            "2d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
            _MOVED,
            222,
        ),
        _Row("7541-C.6.2", "4883640effc1c0bf", _MOVED_AGAIN, 222),
        _Row(
            "7541-C.6.3",
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab"
            "77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f"
            "9587316065c003ed4ee5b1063d5007",
            _FOUND,
            215,
        ),
    ]
    _run(coded, 256)


def test_literals_of_the_rfc() raises:
    var rows: List[_Row] = [
        _Row(
            "7541-C.2.1",
            "400a637573746f6d2d6b65790d637573746f6d2d686561646572",
            "custom-key=custom-header\n",
            55,
        ),
        _Row(
            "7541-C.2.2",
            "040c2f73616d706c652f70617468",
            ":path=/sample/path\n",
            55,
        ),
        _Row(
            "7541-C.2.3",
            "100870617373776f726406736563726574",
            "password=secret\n",
            55,
        ),
        _Row("7541-C.2.4", "82", ":method=GET\n", 55),
    ]
    _run(rows, 4_096)


def test_integers_of_the_rfc() raises:
    # RFC 7541 section C.1: 10 and 1337 with a prefix of 5, 42 with one of 8.
    var out = Buffer()
    append_integer[5](out, 0, 10)
    append_integer[5](out, 0, 1_337)
    append_integer[8](out, 0, 42)
    assert_equal(hex_of(out.span()), "0a1f9a0a2a")


@fieldwise_init
struct _Refusal(Copyable, Movable):
    var rule: StaticString
    var hex: StaticString


def test_what_is_no_block() raises:
    var rows: List[_Refusal] = [
        _Refusal("7541-6.1 an index of 0", "80"),
        _Refusal("7541-2.3.3 an index beyond both tables", "be"),
        _Refusal("7541-2.3.3 a name beyond both tables", "7f000161"),
        _Refusal("7541-5.1 an integer without an end", "ff"),
        _Refusal("7541-5.1 an integer that goes on", "ff8080808080808001"),
        _Refusal("7541-5.1 an integer that wraps", "ffffffffffffffff7f"),
        _Refusal("7541-5.2 a string longer than the block", "400361"),
        _Refusal("7541-5.2 a string that is missing", "40"),
        _Refusal("7541-5.2 a value that is missing", "400161"),
        _Refusal("7541-5.2 eight ones of padding", "40018361ffff"),
        _Refusal("7541-5.2 padding of zeros", "4081180161"),
        _Refusal("7541-5.2 the end of the string in it", "4084ffffffff0161"),
        _Refusal("7541-4.2 a size above the setting", "3fe21f"),
        _Refusal("7541-4.2 a size behind a field", "8220"),
    ]
    for row in rows:
        var decoder = HpackDecoder()
        var is_refused = False
        try:
            _ = _decode(decoder, row.hex)
        except error:
            is_refused = "COMPRESSION_ERROR" in String(error)
        assert_true(is_refused, row.rule)


def test_sizes_at_the_start() raises:
    var decoder = HpackDecoder()
    # 7541-4.2: to 0 and back to 4,096, then a field.
    assert_equal(_decode(decoder, "203fe11f82"), ":method=GET\n")
    assert_equal(decoder.table.size_max, 4_096)


def test_an_entry_larger_than_the_table_empties_it() raises:
    # 7541-4.4
    var decoder = HpackDecoder()
    decoder.table.resize(64)
    _ = _decode(decoder, "4001610162")
    assert_equal(decoder.table.count, 1)
    _ = _decode(decoder, "400161" + "28" + "62" * 40)
    assert_equal(decoder.table.count, 0)
    assert_equal(decoder.table.size, 0)


def test_every_octet_in_the_huffman_code() raises:
    var all = List[UInt8]()
    for octet in range(256):
        all.append(UInt8(octet))
    var encoded = Buffer()
    huffman_encode(encoded, all)
    assert_equal(len(encoded), huffman_len(all))
    var decoded = Buffer()
    assert_equal(huffman_decode(decoded, encoded.span()), 256)
    assert_true(decoded.span() == Span(all))
    # Cut anywhere, it is a shorter string or none, and never read beyond.
    for end in range(len(encoded)):
        var part = Buffer()
        var count = huffman_decode(part, encoded.span()[0:end])
        assert_true(count == HUFFMAN_BROKEN or count <= 256)


def test_nothing_is_read_beyond_a_block() raises:
    # Blocks that end anywhere, right before memory that must not be read.
    var rows: List[String] = [
        "828684410f7777772e6578616d706c652e636f6d",
        "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        "203fe11f" + "40" + "7fa11e" + "61" * 12,
        "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a6",
        "0f2f8221ff" + "ffffffff7f",
    ]
    for row in rows:
        var octets = octets_of(row)
        for end in range(len(octets) + 1):
            var memory = GuardedBytes(Span(octets)[0:end])
            var wanted = String()
            var got = String()
            var decoder = HpackDecoder()
            var other = HpackDecoder()
            try:
                wanted = _decode(other, hex_of(Span(octets)[0:end]))
            except error:
                wanted = String(error)
            try:
                got = _text(decoder, memory.span())
            except error:
                got = String(error)
            assert_equal(got, wanted, row)


def test_nothing_is_read_beyond_a_huffman_string() raises:
    for length in range(40):
        for octet in [0, 0x18, 0xAE, 0xFE, 0xFF]:
            var octets = List[UInt8](length=length, fill=UInt8(octet))
            var memory = GuardedBytes(octets)
            var guarded = Buffer()
            var plain = Buffer()
            octets.append(0xFF)
            assert_equal(
                huffman_decode(guarded, memory.span()),
                huffman_decode(plain, Span(octets)[0:length]),
            )
            assert_true(guarded.span() == plain.span())


def test_encoded_fields_are_decoded() raises:
    var encoder = HpackEncoder()
    var decoder = HpackDecoder()
    var word = UInt64(7)
    for round in range(300):
        if round == 100:
            encoder.set_size_max(0)
            encoder.set_size_max(200)
        if round == 200:
            encoder.set_size_max(4_096)
        var out = Buffer()
        var wanted = String()
        encoder.begin(out)
        encoder.add_status(out, 200 + round % 300)
        wanted += String(":status=", 200 + round % 300, "\n")
        for _ in range(6):
            word = word * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407
            var name = String("x-name-", (word >> 40) % 40)
            var value = String("value ", (word >> 50) % 60) * Int(
                (word >> 20) % 9
            )
            var kept = Indexing(UInt8((word >> 33) % 3))
            encoder.add(out, name.as_bytes(), value.as_bytes(), kept)
            wanted += String(name, "=", value, "\n")
        assert_equal(_decode(decoder, hex_of(out.span())), wanted)
        assert_equal(decoder.table.size, encoder._table.size)


def test_what_is_larger_than_the_table_is_not_added() raises:
    # 7541-4.4: it would only empty the table, or be added by a decoder whose
    # table is larger, which 7541-4.2 allows.
    var encoder = HpackEncoder()
    var first = Buffer()
    encoder.add(first, "a".as_bytes(), "b".as_bytes(), Indexing.KEPT)
    for length in [4_064, 4_063]:
        var large = Buffer()
        var value = String("v") * length
        encoder.begin(large)
        encoder.add(large, "x".as_bytes(), value.as_bytes(), Indexing.KEPT)
        var is_kept = Int(large.span()[0]) == 0x40
        assert_equal(is_kept, length == 4_063)
        var again = Buffer()
        encoder.add(again, "a".as_bytes(), "b".as_bytes(), Indexing.KEPT)
        assert_equal(hex_of(again.span()) == "be", length == 4_064)
    encoder.set_size_max(0)
    var none = Buffer()
    encoder.begin(none)
    encoder.add(none, "a".as_bytes(), "b".as_bytes(), Indexing.KEPT)
    assert_equal(hex_of(none.span()), "20" + "0001610162")


def test_what_comes_again_is_one_octet() raises:
    var encoder = HpackEncoder()
    var type = "text/plain; charset=utf-8".as_bytes()
    for round in range(3):
        var out = Buffer()
        encoder.begin(out)
        encoder.add(out, "content-type".as_bytes(), type, Indexing.KEPT)
        encoder.add(
            out, "content-length".as_bytes(), "12".as_bytes(), Indexing.NOT_KEPT
        )
        if round > 0:
            assert_equal(hex_of(out.span()), "be0f0d023132")


def test_what_is_kept_of_a_field() raises:
    """RFC 7541 section 7.1.3: secrets are not kept by anybody."""
    for name in [
        StaticString("authorization"),
        "proxy-authorization",
        "cookie",
        "set-cookie",
    ]:
        assert_true(indexing_of(name.as_bytes()) == Indexing.NEVER, name)
    for name in [
        StaticString("content-length"),
        "etag",
        "age",
        "x-request-id",
        "if-modified-since",
    ]:
        assert_true(indexing_of(name.as_bytes()) == Indexing.NOT_KEPT, name)
    for name in [StaticString(""), "a", "accept", "cookie2", "user-agent"]:
        assert_true(indexing_of(name.as_bytes()) == Indexing.KEPT, name)


@fieldwise_init
struct _Kind(Copyable, Movable):
    var name: StaticString
    var kind: UInt8


def test_kinds_of_names() raises:
    var rows: List[_Kind] = [
        _Kind(":authority", FieldKind.AUTHORITY),
        _Kind(":method", FieldKind.METHOD),
        _Kind(":path", FieldKind.PATH),
        _Kind(":scheme", FieldKind.SCHEME),
        _Kind(":status", FieldKind.STATUS),
        _Kind(":protocol", FieldKind.PROTOCOL),
        _Kind(":other", FieldKind.PSEUDO_UNKNOWN),
        _Kind(":methoD", FieldKind.PSEUDO_UNKNOWN),
        _Kind(":", FieldKind.PSEUDO_UNKNOWN),
        _Kind("content-length", FieldKind.CONTENT_LENGTH),
        _Kind("host", FieldKind.HOST),
        _Kind("cookie", FieldKind.COOKIE),
        _Kind("te", FieldKind.TE),
        _Kind("connection", FieldKind.OF_CONNECTION),
        _Kind("keep-alive", FieldKind.OF_CONNECTION),
        _Kind("proxy-connection", FieldKind.OF_CONNECTION),
        _Kind("transfer-encoding", FieldKind.OF_CONNECTION),
        _Kind("upgrade", FieldKind.OF_CONNECTION),
        _Kind("priority", FieldKind.PRIORITY),
        _Kind("expect", FieldKind.EXPECT),
        _Kind("user-agent", FieldKind.OTHER),
        _Kind("etag", FieldKind.OTHER),
        _Kind("ta", FieldKind.OTHER),
        _Kind("grpc-status", FieldKind.OTHER),
        _Kind("t", FieldKind.OTHER),
        _Kind("", FieldKind.OTHER),
    ]
    for row in rows:
        assert_equal(kind_of(row.name.as_bytes()), row.kind, row.name)
