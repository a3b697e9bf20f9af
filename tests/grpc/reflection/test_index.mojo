"""Which file declares a name, and what it imports."""

from flare.grpc.reflection.index import DescriptorIndex
from tests.grpc.messages.names_grpc import _FILES
from tests.support.assertions import assert_equal, assert_true

comptime OWN = StaticString("names.proto")
comptime TIME = StaticString("google/protobuf/timestamp.proto")


def _index() raises -> DescriptorIndex:
    var index = DescriptorIndex()
    index.add_set(_FILES)
    # As another service that imports some of the same files would do.
    index.add_set(_FILES)
    return index^


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var symbol: StaticString
    var file: StaticString


def test_names() raises:
    var index = _index()
    assert_equal(index.file_count(), 3)
    var rows: List[_Row] = [
        _Row("message", "test.names.Outer", OWN),
        _Row("message within", "test.names.Outer.Inner", OWN),
        _Row("enumeration within", "test.names.Outer.Inner.Colour", OWN),
        _Row(
            "value, beside its enumeration", "test.names.Outer.Inner.RED", OWN
        ),
        _Row("value, not in it", "test.names.Outer.Inner.Colour.RED", ""),
        _Row("field", "test.names.Outer.time", OWN),
        _Row("field by its name in JSON", "test.names.Outer.text", ""),
        _Row("oneof", "test.names.Outer.choice", OWN),
        _Row("extension within", "test.names.Outer.within", OWN),
        _Row("extension", "test.names.beside", OWN),
        _Row("enumeration", "test.names.Size", OWN),
        _Row("value", "test.names.SMALL", OWN),
        _Row("service", "test.names.Names", OWN),
        _Row("method", "test.names.Names.Get", OWN),
        _Row("path", "test.names.Names/Get", ""),
        _Row("package", "test.names", ""),
        _Row("dot before", ".test.names.Outer", ""),
        _Row("imported", "google.protobuf.Timestamp", TIME),
        _Row("not imported", "google.protobuf.Any", ""),
        _Row("nothing", "", ""),
    ]
    for row in rows:
        var wanted = index.file(String(row.file)) if row.file != "" else -1
        assert_equal(index.file_of(String(row.symbol)), wanted, row.rule)
    assert_true(index.file(String(OWN)) >= 0)
    assert_equal(index.file("none.proto"), -1)


def test_extensions() raises:
    var index = _index()
    var own = index.file(String(OWN))
    assert_equal(index.file_of_extension("test.names.Outer", 101), own)
    assert_equal(index.file_of_extension("test.names.Outer", 150), own)
    assert_equal(index.file_of_extension("test.names.Outer", 102), -1)
    assert_equal(index.file_of_extension("test.names.Inner", 101), -1)
    var numbers = index.extension_numbers("test.names.Outer")
    assert_equal(len(numbers), 2)
    assert_equal(numbers[0], 101)
    assert_equal(numbers[1], 150)
    assert_equal(len(index.extension_numbers("test.names.Size")), 0)


def test_imports() raises:
    var index = _index()
    var own = index.file(String(OWN))
    var imports = index.imports(own)
    assert_equal(len(imports), 2)
    assert_equal(imports[0], index.file(String(TIME)))
    assert_equal(len(index.imports(imports[0])), 0)
    assert_true(len(index.octets(own)) > 100)


@fieldwise_init
struct _Bad(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    var message: StaticString


def test_what_is_no_set_is_refused() raises:
    var rows: List[_Bad] = [
        _Bad("no base64", "Cg=", "the description of a service is no base64"),
        _Bad("no set", "CgUB", "protobuf google.protobuf.FileDescriptorSet"),
        _Bad("no file", "CgEK", "protobuf google.protobuf.FileDescriptorProto"),
    ]
    for row in rows:
        var index = DescriptorIndex()
        var message = String()
        try:
            index.add_set(row.text)
        except error:
            message = String(error)
        assert_true(message.startswith(row.message), message)
