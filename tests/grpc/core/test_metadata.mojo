"""Metadata, octets in base64, and lists of codings."""

from flare.bytes.checked import *
from flare.grpc.core.binary import decode_binary, encode_binary
from flare.grpc.core.coding import MessageCoding, accepts_gzip, parse_coding
from flare.grpc.core.metadata import Metadata
from flare.http.message.header_map import HeaderMap
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var name: String
    var value: String
    var is_taken: Bool


def test_names_and_values() raises:
    var rows: List[_Row] = [
        _Row("all kinds of octets", "a-b_c.9", "x y~!", True),
        _Row("empty value", "a", "", True),
        _Row("upper case", "A", "x", False),
        _Row("empty name", "", "x", False),
        _Row("pseudo-field", ":path", "x", False),
        _Row("reserved by gRPC", "grpc-trace", "x", False),
        _Row("only the prefix", "grpc", "x", True),
        _Row("reserved by Connect", "connect-accept-encoding", "x", False),
        _Row("reserved by Connect", "trailer-a", "x", False),
        _Row("of HTTP, where Connect is", "content-encoding", "x", False),
        _Row("of HTTP", "te", "trailers", False),
        _Row("of HTTP", "content-type", "x", False),
        _Row("octets as a text", "a-bin", "x", False),
        _Row("line end", "a", "x\ny", False),
        _Row("not ASCII", "a", "\u00fc", False),
        _Row("HTAB", "a", "x\ty", False),
        _Row("space before", "a", " x", False),
        _Row("space behind", "a", "x ", False),
    ]
    for row in rows:
        var metadata = Metadata()
        var is_taken = True
        try:
            metadata.add(row.name, row.value)
        except:
            is_taken = False
        assert_equal(is_taken, row.is_taken, row.rule)
        assert_equal(len(metadata), 1 if row.is_taken else 0, row.rule)


def test_octets_go_and_come() raises:
    var octets = List[UInt8]()
    for index in range(256):
        octets.append(UInt8(index))
    var metadata = Metadata()
    for length in range(5):
        metadata.add_binary("a-bin", Span(octets)[:length])
    metadata.add_binary("all-bin", octets)
    var fields = HeaderMap()
    metadata.append_to(fields)
    var read = Metadata()
    read.take_fields(fields.lines_fields())
    assert_equal(len(read), 6)
    for length in range(5):
        var value = decode_binary(read.value(length).as_bytes())
        assert_equal(len(value.value()), length)
    assert_true(read.get_binary("All-Bin").value() == octets)
    assert_false(read.get_binary("b-bin"), "not there")
    try:
        metadata.add_binary("a", octets)
    except error:
        assert_equal(error.name, "a")
        return
    raise Error("octets without -bin")


def test_what_a_peer_sends() raises:
    var fields = HeaderMap()
    fields.append("te", "trailers")
    fields.append("content-type", "application/grpc")
    fields.append("grpc-timeout", "1S")
    fields.append("user-agent", "x/1")
    fields.append("k-bin", "AQ==, Ag,,Aw")
    fields.append("k", "a, b")
    fields.append("k", "c")
    var read = Metadata()
    read.take_fields(fields.lines_fields())
    assert_equal(len(read), 7)
    assert_equal(String(read.get("user-agent").value()), "x/1")
    assert_equal(String(read.get("k").value()), "a, b")
    assert_equal(read.get_binary("k-bin").value().at(0), UInt8(1))
    assert_equal(
        decode_binary(read.value(2).as_bytes()).value().at(0), UInt8(2)
    )
    assert_equal(read.value(3).byte_length(), 0)
    assert_equal(
        decode_binary(read.value(4).as_bytes()).value().at(0), UInt8(3)
    )
    assert_false("grpc-timeout" in read, "reserved")


def test_what_belongs_to_http_is_no_metadata() raises:
    var fields = HeaderMap()
    var own: List[String] = [
        "connection",
        "content-length",
        "content-type",
        "date",
        "host",
        "keep-alive",
        "proxy-connection",
        "TE",
        "trailer",
        "Transfer-Encoding",
        "upgrade",
    ]
    for name in own:
        fields.append(name, "x")
    var others: List[String] = ["tx", "dates", "upgrades", "content-types"]
    for name in others:
        fields.append(name, "x")
    var read = Metadata()
    read.take_fields(fields.lines_fields())
    assert_equal(len(read), len(others))
    for index in range(len(others)):
        assert_equal(String(read.name(index)), others.at(index))


def test_base64_with_and_without_padding() raises:
    var texts: List[String] = ["", "AQ", "AQ==", "AQI", "AQI=", "AQID"]
    var lengths: List[Int] = [0, 1, 1, 2, 2, 3]
    for index in range(len(texts)):
        var guarded = GuardedBytes(texts.at(index).as_bytes())
        var octets = decode_binary(guarded.span())
        assert_equal(len(octets.value()), lengths.at(index), texts.at(index))
    var refused: List[String] = [
        "A",
        "AQ=",
        "=",
        "A===",
        "AQ==AQ",
        "AR",
        "A Q=",
        "-_-_",
    ]
    for text in refused:
        var guarded = GuardedBytes(text.as_bytes())
        assert_false(decode_binary(guarded.span()), text)
    var octet: List[UInt8] = [255]
    assert_equal(encode_binary(octet), "/w")


def test_codings() raises:
    # RFC 9110 sections 8.4.1 and 8.4.1.3: in any case, and by an old name.
    for name in ["gzip", "GZIP", "x-gzip"]:
        var found = parse_coding(name.as_bytes())
        assert_true(found and found.value() == MessageCoding.GZIP, name)
    for name in ["identity", "Identity"]:
        var found = parse_coding(name.as_bytes())
        assert_true(found and found.value() == MessageCoding.IDENTITY, name)
    var unknown: List[String] = ["", "deflate", "gzip,identity", "br"]
    for name in unknown:
        assert_false(parse_coding(name.as_bytes()), name)
    var lists: List[String] = [
        "gzip",
        "identity,deflate, gzip",
        "\tgzip ,x",
        "br, GZip",
    ]
    for list in lists:
        var guarded = GuardedBytes(list.as_bytes())
        assert_true(accepts_gzip(guarded.span()), list)
    var without: List[String] = ["", ",", "identity", "gzipx", "x gzip"]
    for list in without:
        assert_false(accepts_gzip(list.as_bytes()), list)


def test_names_with_a_prefix() raises:
    """Connect, "Unary-Response": `trailer-` before the names."""
    var fields = HeaderMap()
    for line in [
        "trailer-a: 1",
        "Trailer-B: 2",
        "a: 3",
        "trailer-a: 4",
        "trailer-: 5",
        "trailer: 6",
        "trailer-grpc-status: 7",
        "trailer-content-type: 8",
        "trailer-trailer-c: 9",
        "trailer-o-bin: AQI,AQM=",
    ]:
        var parts = line.split(": ")
        fields.append(parts[0], parts[1])
    var metadata = Metadata()
    metadata.take_prefixed(fields.lines_fields(), "trailer-")
    var text = String()
    for index in range(len(metadata)):
        text.write(metadata.name(index), "=", metadata.value(index), " ")
    assert_equal(text, "a=1 b=2 a=4 o-bin=AQI o-bin=AQM= ")
