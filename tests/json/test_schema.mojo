"""The JSON Schema of types."""

from flare.json.schema import write_parameter_schema, write_schema
from flare.json.writer import JsonWriter
from std.testing import assert_equal, assert_true


@fieldwise_init
struct _Node(Copyable, Movable):
    var name: String
    var children: List[_Leaf]
    var next: Optional[Int32]


@fieldwise_init
struct _Leaf(Copyable, Movable):
    var weight: Float64
    var marks: Dict[String, Bool]


def _schema[T: AnyType]() raises -> String:
    var writer = JsonWriter()
    write_schema[T](writer)
    return writer^.finish()


def test_schemas() raises:
    assert_equal(_schema[Int](), '{"type":"integer","format":"int64"}')
    assert_equal(_schema[UInt8](), '{"type":"integer"}')
    assert_equal(_schema[Bool](), '{"type":"boolean"}')
    assert_equal(_schema[Float32](), '{"type":"number","format":"float"}')
    assert_equal(
        _schema[List[String]](), '{"type":"array","items":{"type":"string"}}'
    )
    assert_equal(
        _schema[Optional[String]](),
        '{"anyOf":[{"type":"string"},{"type":"null"}]}',
    )
    assert_equal(
        _schema[_Node](),
        (
            '{"type":"object","properties":{"name":{"type":"string"},"children"'
            ':{"type":"array","items":{"type":"object","properties":{"weight":'
            '{"type":"number","format":"double"},"marks":{"type":"object",'
            '"additionalProperties":{"type":"boolean"}}},"required":["weight",'
            '"marks"]}},"next":{"anyOf":[{"type":"integer","format":"int32"},'
            '{"type":"null"}]}},"required":["name","children"]}'
        ),
    )


def test_parameters_are_left_out_rather_than_null() raises:
    var writer = JsonWriter()
    write_parameter_schema[Optional[String]](writer)
    assert_equal(writer^.finish(), '{"type":"string"}')
