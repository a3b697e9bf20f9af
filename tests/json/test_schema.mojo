"""The JSON Schema of types."""

from flare.bytes.checked import *
from flare.json.schema import SchemaBook, schema_id, schema_of
from flare.json.struct_writer import JsonWritable
from flare.json.error import JsonError
from flare.json.writer import JsonWriter
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Node(Copyable, Movable):
    var name: String
    var children: List[_Leaf]
    var next: Optional[Int32]


@fieldwise_init
struct _Leaf(Copyable, Movable):
    var weight: Float64
    var marks: Dict[String, Bool]


struct _Tree(Movable):
    """Holds more of its kind."""

    var value: Int
    var branches: List[_Tree]

    def __deinit__(deinit self):
        pass


struct _Own(JsonWritable):
    """Is written in a form of its own."""

    var _code: Int

    def to_json(self, mut writer: JsonWriter) raises JsonError:
        writer.value("x")


def _schema[T: AnyType]() -> String:
    var book = SchemaBook()
    var text = schema_of[T](book)
    for ref schema in book.schemas:
        text.write(" ", schema.name, "=", schema.schema)
    return text


def test_schemas() raises:
    assert_equal(_schema[Int](), '{"type":"integer","format":"int64"}')
    assert_equal(
        _schema[UInt8](), '{"type":"integer","minimum":0,"maximum":255}'
    )
    assert_equal(_schema[Bool](), '{"type":"boolean"}')
    assert_equal(_schema[Float32](), '{"type":"number","format":"float"}')
    assert_equal(
        _schema[List[String]](), '{"type":"array","items":{"type":"string"}}'
    )
    assert_equal(
        _schema[Optional[String]](),
        '{"anyOf":[{"type":"string"},{"type":"null"}]}',
    )
    assert_equal(_schema[_Own](), "{}")


def test_structs_stand_once() raises:
    var book = SchemaBook()
    var text = schema_of[_Node](book)
    assert_equal(text, schema_of[_Node](book))
    assert_equal(len(book.schemas), 2)
    var node = book.schemas.at(0).copy()
    var leaf = book.schemas.at(1).copy()
    assert_equal(text, String('{"$ref":"#/components/schemas/', node.id, '"}'))
    assert_equal(node.name, "_Node")
    assert_true(node.id.endswith("._Node"), node.id)
    assert_equal(
        node.schema,
        String(
            '{"type":"object","properties":{"name":{"type":"string"},"children"'
            ':{"type":"array","items":{"$ref":"#/components/schemas/',
            leaf.id,
            '"}},"next":{"anyOf":[{"type":"integer","format":"int32"},'
            '{"type":"null"}]}},"required":["name","children"]}',
        ),
    )
    assert_equal(
        leaf.schema,
        '{"type":"object","properties":{"weight":{"type":"number","format":'
        '"double"},"marks":{"type":"object","additionalProperties":{"type":'
        '"boolean"}}},"required":["weight","marks"]}',
    )


def test_a_struct_may_hold_its_own_kind() raises:
    var book = SchemaBook()
    _ = schema_of[_Tree](book)
    assert_equal(len(book.schemas), 1)
    assert_true(
        String('"items":{"$ref":"#/components/schemas/', book.schemas.at(0).id)
        in book.schemas.at(0).schema,
        book.schemas.at(0).schema,
    )


def test_ids_are_component_names() raises:
    # OpenAPI 3.1, Components Object: ^[a-zA-Z0-9.-_]+$.
    assert_equal(schema_id("a.b.Page[a.Task, 3]"), "a.b.Page_a.Task_3")
    assert_equal(schema_id("Task-1"), "Task-1")
